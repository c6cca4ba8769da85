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


def test_a_line_that_is_refused_says_where_it_is_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    odd = RECORD.line.replace('"rmse": 0.25', '"rmse": NaN')
    path.write_text(f"{RECORD.line}\n\n{odd}\n")
    with pytest.raises(DataError) as refused:
        read_records([path])
    assert str(refused.value) == (
        f"{path}, line 3: no record of an experiment: values.rmse: found NaN, expected a finite number above 0; "
        "delete the line to go on"
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"seed": 1,}', "no JSON: .* at character 12; delete the line"),
        ('{"seed": ' + "9" * 5000 + "}", "no JSON that can be read here: .*; delete the line"),
        ("[" * 100_000 + "]" * 100_000, "no JSON that can be read here: .*; delete the line"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused(line: str, reason: str) -> None:
    with pytest.raises(DataError, match=f"here: no record of an experiment: {reason}"):
        Record.from_line(line, "here")


def test_a_record_knows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(f"{RECORD.line}\n")
    assert [record.place for record in read_records([path])] == [f"{path}, line 1"]


def test_the_last_good_record_of_a_cell_counts_and_a_cut_line_does_not(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    better = Record(CELL, {"rounds": 3}, {"rmse": 0.2}, 1.0)
    failed = Record(CELL, {"rounds": 3}, {}, 1.0, {}, "NumericalError: no")
    path.write_text("\n".join([RECORD.line, better.line, failed.line, RECORD.line[:20]]))
    assert read_records([path, tmp_path / "nowhere.jsonl"]) == [better]


def test_of_a_cell_that_was_run_with_two_settings_both_records_stand(tmp_path: Path) -> None:
    # In files of several machines the one of before may come last.
    path = tmp_path / "some.jsonl"
    other = Record(CELL, {"rounds": 4}, {"rmse": 0.2}, 1.0)
    path.write_text(f"{other.line}\n{RECORD.line}\n")
    assert read_records([path]) == [other, RECORD]
    for rounds in (3, 4):
        assert remaining([CELL], {"fgpr": {"rounds": rounds}}, read_records([path])) == []


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(RECORD.line.encode("utf-16"))
    with pytest.raises(DataError, match=r"some\.jsonl: no text in UTF-8"):
        read_records([path])


def test_what_was_run_otherwise_or_failed_is_run_again() -> None:
    other = Cell("table1", "PARK", "corners", "fgpr", 100)
    failed = Record(other, {"rounds": 3}, {}, 1.0, {}, "NumericalError: no")
    done = [RECORD, failed]
    assert remaining([CELL, other], {"fgpr": {"rounds": 3}}, done) == [other]
    assert remaining([CELL, other], {"fgpr": {"rounds": 5}}, done) == [CELL, other]


def test_versions_name_what_computes() -> None:
    assert {"python", "numpy", "scipy"} <= versions().keys()
