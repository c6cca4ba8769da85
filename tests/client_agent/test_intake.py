"""Choosing the format, the unit and the columns."""

import pytest

from client_agent.intake import read_columns
from fgpr.errors import DataError

FIELDS = " ".join(["0.5"] * 24)
CMAPSS = f"1 1 {FIELDS}  \n1 2 {FIELDS}  \n3 1 {FIELDS}  \n"
CSV = "unit,cycle,s2\n1,1,642\n1,2,643\n3,1,641\n"


def write(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "name", "width"),
    [
        (CMAPSS, "engine.txt", 26),
        (CMAPSS, "engine", 26),
        (CMAPSS, "engine.csv", 26),
        (CSV, "engine.csv", 3),
        (CSV, "engine.txt", 3),
        ("s2\n1\n2\n3\n", "one.CSV", 1),
    ],
)
def test_format_is_told_by_content_then_by_suffix(tmp_path, text, name, width):
    columns = read_columns(write(tmp_path, text, name))
    assert len(columns) == width
    assert all(column.shape == (3,) for column in columns.values())


def test_text_that_is_neither_is_refused_as_cmapss(tmp_path):
    with pytest.raises(DataError, match=r"notes\.txt, line 1: fields: 3, needed: 26 \(unit, cycle"):
        read_columns(write(tmp_path, "once upon time\n", "notes.txt"))


@pytest.mark.parametrize(("text", "name"), [(CMAPSS, "a.txt"), (CSV, "a.csv")])
def test_one_unit(tmp_path, text, name):
    path = write(tmp_path, text, name)
    assert read_columns(path, unit=1)["cycle"].tolist() == [1.0, 2.0]
    assert read_columns(path, unit=3)["cycle"].tolist() == [1.0]
    with pytest.raises(DataError, match=rf"{name}: no .*unit 2"):
        read_columns(path, unit=2)


def test_unit_of_a_table_without_units(tmp_path):
    with pytest.raises(DataError, match="no column 'unit' among the 2 columns x, y"):
        read_columns(write(tmp_path, "x,y\n1,2\n", "a.csv"), unit=1)


def test_required_columns(tmp_path):
    path = write(tmp_path, CSV, "a.csv")
    assert set(read_columns(path, required=("s2", "cycle"))) == {"unit", "cycle", "s2"}
    with pytest.raises(DataError, match=r"no column 'Cycle', 's9' among .*did you mean 'cycle'\?"):
        read_columns(path, required=("Cycle", "s9"))
    with pytest.raises(DataError, match="no column 's22' among the 26 columns unit, cycle"):
        read_columns(write(tmp_path, CMAPSS, "a.txt"), required=("s22",))
