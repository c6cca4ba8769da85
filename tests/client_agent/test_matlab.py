"""MATLAB files: SARCOS and others, and what must not be taken for one."""

import struct

import numpy as np
import pytest
from scipy.io import savemat

from client_agent import matlab
from client_agent.intake import read_columns, read_table
from client_agent.matlab import SARCOS_COLUMNS, read_mat
from fgpr.errors import DataError

MATRIX = np.arange(84.0).reshape(3, 28)


def write(tmp_path, arrays, name="arm.mat", **options):
    path = tmp_path / name
    savemat(path, arrays, **options)
    return path


@pytest.mark.parametrize("options", [{}, {"do_compression": True}, {"format": "4"}])
def test_a_matrix_of_28_columns_is_sarcos(tmp_path, options):
    columns = read_mat(write(tmp_path, {"sarcos_inv": MATRIX}, **options))
    assert tuple(columns) == SARCOS_COLUMNS
    assert SARCOS_COLUMNS[::7] == ("q1", "qd1", "qdd1", "tau1")
    assert columns["tau1"].tolist() == [21.0, 49.0, 77.0]


def test_the_name_does_not_matter_where_the_file_has_a_mark(tmp_path):
    path = write(tmp_path, {"a": MATRIX}).rename(tmp_path / "rows.txt")
    assert read_table(path).format == "MATLAB file"


def test_another_matrix_and_vectors(tmp_path):
    assert list(read_mat(write(tmp_path, {"M": np.eye(3)}))) == ["M1", "M2", "M3"]
    vectors = read_columns(write(tmp_path, {"cycle": [[1.0, 2.0]], "T24": [[642], [643]], "note": "made up"}))
    assert {name: column.tolist() for name, column in vectors.items()} == {"cycle": [1.0, 2.0], "T24": [642.0, 643.0]}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"a": np.array([{"x": 1}], dtype=object)}, "there are: none"),
        ({"a": np.eye(2) * 1j}, "not real numbers"),
        ({"a": np.eye(3), "b": np.eye(3)}, r"there are: a 3 x 3, b 3 x 3"),
        ({"a": [[1.0, 2.0]], "b": [[1.0, 2.0, 3.0]]}, r"vectors differ in length: \{'a': 2, 'b': 3\}"),
        ({"a": "text"}, "there are: none"),
    ],
)
def test_what_holds_no_rows_of_numbers_is_refused(tmp_path, arrays, said):
    with pytest.raises(DataError, match=rf"arm\.mat: .*{said}"):
        read_mat(write(tmp_path, arrays))


def test_values_that_are_none(tmp_path):
    holed = MATRIX.copy()
    holed[1, 2] = np.nan
    with pytest.raises(DataError, match=r"row 2, column 'q3': nan is not a finite number"):
        read_columns(write(tmp_path, {"a": holed}))


def test_a_small_file_that_unpacks_to_a_large_matrix_is_refused_before_that(tmp_path, monkeypatch):
    monkeypatch.setattr(matlab, "MAX_BYTES", 1000)
    path = write(tmp_path, {"a": np.zeros((100, 28))}, do_compression=True)
    assert path.stat().st_size < 1000
    with pytest.raises(DataError, match="arrays of 22400 bytes; at most 1000 are read"):
        read_mat(path)


def test_damaged_files_have_one_kind_of_error(tmp_path):
    whole = write(tmp_path, {"a": MATRIX}, do_compression=True).read_bytes()
    path = tmp_path / "cut.mat"
    for length in (0, 4, 127, 128, 130, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"cut\.mat"):
            read_mat(path)
    for place in range(128, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read_mat(path)
        except DataError:
            continue


def test_version_7_3_is_named(tmp_path):
    path = tmp_path / "new.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n" + struct.pack("<Q", 0))
    with pytest.raises(DataError, match=r"version 7\.3; save it with -v7"):
        read_mat(path)


@pytest.mark.data
def test_the_real_test_file(real_data):
    columns = read_mat(real_data / "sarcos" / "sarcos_inv_test.mat")
    assert tuple(columns) == SARCOS_COLUMNS
    assert {column.shape for column in columns.values()} == {(4449,)}
    # The same rows in the CSV form: its rows 0, 10, 20... are the test file.
    csv = read_columns(real_data / "sarcos" / "sarcos_derived_rows.csv.gz")
    rows = np.isin(csv["row"], np.arange(0, 44490, 10))
    assert rows.sum() == 4449
    for name in ("q1", "qdd7", "tau1", "tau7"):
        np.testing.assert_allclose(np.sort(csv[name][rows]), np.sort(columns[name]), atol=2e-6)
