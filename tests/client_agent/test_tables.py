"""CSV tables with a header row."""

import gzip

import pytest

from client_agent.tables import read_csv
from fgpr.errors import DataError


def write(tmp_path, raw, name="bench.csv"):
    path = tmp_path / name
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return path


@pytest.mark.parametrize(
    "raw",
    [
        "load,temp\n1,20.5\n2,21\n",
        "load,temp\n1,20.5\n2,21",
        "load,temp\r\n1,20.5\r\n2,21\r\n\r\n",
        "\ufeffload,temp\n1,20.5\n2,21\n",
        '"load", temp \n"1", 20.5 \n 2 ,2.1e1\n',
        gzip.compress(b"load,temp\n1,20.5\n2,21\n", mtime=0),
    ],
)
def test_columns_by_name(tmp_path, raw):
    columns = read_csv(write(tmp_path, raw))
    assert {name: column.tolist() for name, column in columns.items()} == {"load": [1.0, 2.0], "temp": [20.5, 21.0]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("load,temp\n1,20\n2\n", r"line 3: fields: 1, needed: 2 \(load, temp\)"),
        ("load,temp\n1,20,\n", "line 2: fields: 3, needed: 2"),
        ("load,temp\n1,warm\n", "line 2, column 'temp': 'warm' is not a number"),
        ("load,temp\n1,\n", "line 2, column 'temp': an empty cell is not a number"),
        ("load,temp\n1,20\n2,nan\n", r"row 2 \(line 3\), column 'temp': nan is not a finite number"),
        ("load,temp\n", "no row of data"),
        ("load,,temp\n1,2,3\n", "line 1: column 2 of 3 has no name"),
        ("load,temp,load\n1,2,3\n", "line 1: 2 columns have the name 'load'"),
        ("1,20\n2,21\n", "line 1: numbers where the names of the columns are needed; add a header row"),
        ("load;temp\n1;20\n", "separated by ';'; a comma is needed"),
        ("load\ttemp\n1\t20\n", "separated by a tab; a comma is needed"),
        ('load,temp\n"1,20\n3,4\n', "line 2: not a row of CSV"),
        ("", "the file is empty"),
    ],
)
def test_faults_name_their_place(tmp_path, text, fault):
    with pytest.raises(DataError, match=rf"bench\.csv.*{fault}"):
        read_csv(write(tmp_path, text))


def test_series_are_ordered_and_repeats_refused(tmp_path):
    columns = read_csv(write(tmp_path, "cycle,y,unit\n2,5,9\n1,4,9\n7,3,2\n"))
    assert columns["unit"].tolist() == [2.0, 9.0, 9.0]
    assert columns["cycle"].tolist() == [7.0, 1.0, 2.0]
    assert columns["y"].tolist() == [3.0, 4.0, 5.0]
    with pytest.raises(DataError, match="line 4: unit 9 has cycle 1 already in line 2"):
        read_csv(write(tmp_path, "cycle,y,unit\n1,5,9\n2,4,9\n1,3,9\n"))


def test_without_unit_and_cycle_rows_stay_as_given(tmp_path):
    assert read_csv(write(tmp_path, "cycle,y\n2,5\n1,4\n2,3\n"))["cycle"].tolist() == [2.0, 1.0, 2.0]


@pytest.mark.data
def test_sarcos_subset(real_data):
    path = real_data / "sarcos" / "sarcos_derived_rows.csv.gz"
    if not path.is_file():
        pytest.skip(f"no real data: {path}")
    columns = read_csv(path)
    assert len(columns) == 29
    assert columns["row"].shape == (12901,)
    # Every tenth row of the original, 0, 10, 20 ... 44480, is in this subset.
    assert set(range(0, 44481, 10)) <= set(columns["row"].astype(int).tolist())
