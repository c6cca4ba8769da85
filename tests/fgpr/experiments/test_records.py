"""Records: both directions of the codec, cut lines, and what is left to run."""

from pathlib import Path

import pytest

from fgpr.errors import DataError
from fgpr.experiments.records import Cell, Record, read_records, remaining, versions

CELL = Cell("table1", "CURRIN", "corners", "fgpr", 100)
RECORD = Record(CELL, {"rounds": 3}, {"rmse": 0.25, "curve": [1.0, 0.5]}, 1.5, {"numpy": "2"})


def test_a_record_comes_back_from_its_line() -> None:
    assert Record.from_line(RECORD.line, "here") == RECORD
    failed = Record(CELL, {}, {}, 0.0, {}, "NumericalError: no")
    assert Record.from_line(failed.line, "here") == failed


@pytest.mark.parametrize("line", ["{", "[]", '{"experiment": "table1"}', "3"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(DataError, match="here: no record"):
        Record.from_line(line, "here")


def test_the_last_good_record_of_a_cell_counts_and_a_cut_line_does_not(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    better = Record(CELL, {"rounds": 4}, {"rmse": 0.2}, 1.0)
    failed = Record(CELL, {"rounds": 4}, {}, 1.0, {}, "NumericalError: no")
    path.write_text("\n".join([RECORD.line, better.line, failed.line, RECORD.line[:20]]))
    assert read_records([path, tmp_path / "nowhere.jsonl"]) == [better]


def test_what_was_run_otherwise_or_failed_is_run_again() -> None:
    other = Cell("table1", "PARK", "corners", "fgpr", 100)
    failed = Record(other, {"rounds": 3}, {}, 1.0, {}, "NumericalError: no")
    done = [RECORD, failed]
    assert remaining([CELL, other], {"fgpr": {"rounds": 3}}, done) == [other]
    assert remaining([CELL, other], {"fgpr": {"rounds": 5}}, done) == [CELL, other]


def test_versions_name_what_computes() -> None:
    assert {"python", "numpy", "scipy"} <= versions().keys()
