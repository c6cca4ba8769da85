"""Parquet files."""

import builtins

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet as arrow

from client_agent import parquet
from client_agent.datafile import Missing
from client_agent.intake import read_columns, read_table
from fgpr.errors import DataError


def write(tmp_path, name="rows.parquet", **columns):
    path = tmp_path / name
    arrow.write_table(pyarrow.table(columns), path)
    return path


def test_numbers_of_every_kind(tmp_path):
    import decimal

    path = write(
        tmp_path,
        cycle=pyarrow.array([1, 2], pyarrow.int64()),
        T24=pyarrow.array([642.25, 641.5], pyarrow.float32()),
        on=[True, False],
        load=pyarrow.array([decimal.Decimal("1.25"), decimal.Decimal("2.50")]),
    )
    columns = read_columns(path)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "cycle": [1.0, 2.0],
        "T24": [642.25, 641.5],
        "on": [1.0, 0.0],
        "load": [1.25, 2.5],
    }
    assert all(column.dtype == np.float64 for column in columns.values())


def test_what_holds_no_numbers_is_left_out_by_name(tmp_path):
    table = read_table(write(tmp_path, cycle=[1, 2], tail=["D-1", "D-2"]))
    assert (list(table.columns), table.others) == (["cycle"], {"tail": "holds no numbers (string)"})


def test_nulls_are_holes(tmp_path):
    path = write(tmp_path, cycle=[1, None, 3], T24=[642.0, 641.0, -999.0])
    with pytest.raises(DataError, match="row 2, column 'cycle': nan is not a finite number"):
        read_columns(path)
    table = read_table(path, Missing.declared([-999]))
    np.testing.assert_array_equal(table.columns["cycle"], [1, np.nan, 3])
    np.testing.assert_array_equal(table.columns["T24"], [642, 641, np.nan])


def test_series_are_in_order(tmp_path):
    path = write(tmp_path, name="rows.bin", unit=[2, 1, 1], cycle=[1, 2, 1], T24=[5.0, 4.0, 3.0])
    assert read_columns(path)["T24"].tolist() == [3.0, 4.0, 5.0]
    assert read_columns(path, unit=1)["T24"].tolist() == [3.0, 4.0]
    with pytest.raises(DataError, match=r"row 3: unit 1 has cycle 1 already in row 1"):
        read_columns(write(tmp_path, unit=[1, 2, 1], cycle=[1, 1, 1]))


def test_half_a_file_empty_ones_and_large_ones(tmp_path, monkeypatch):
    whole = write(tmp_path, a=[1.0] * 100)
    (tmp_path / "half.parquet").write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"half\.parquet: no Parquet file that can be read"):
        read_columns(tmp_path / "half.parquet")
    with pytest.raises(DataError, match="no row of data"):
        read_columns(write(tmp_path, "none.parquet", a=pyarrow.array([], pyarrow.float64())))
    monkeypatch.setattr(parquet, "MAX_BYTES", 500)
    with pytest.raises(DataError, match="800 bytes unpacked; at most 500"):
        read_columns(whole)


def test_without_pyarrow_the_owner_is_told_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, a=[1.0])
    real = builtins.__import__

    def absent(name, *rest):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(DataError, match=r"pyarrow is needed: pip install 'fgpr\[agent,parquet\]'"):
        read_columns(path)
