import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.real_data import training_file
from benchmarks.report import Line, at_least, at_most, conclude, not_measured


@pytest.mark.parametrize(
    ("lines", "status", "told"),
    [
        ([at_least("speed", 4.0, "x", 4.0), Line("told", 9.0, "ms")], 0, "1 of 1 targets met"),
        ([not_measured("peer", "x", 4.0, asked=True)], 1, "missed peer: not measured, target >= 4"),
        (
            [not_measured("peer", "x", 4.0, asked=False), at_least("speed", 4.0, "x", 4.0)],
            0,
            "1 of 1 targets met; 1 not measured",
        ),
        ([at_most("time", 4.1, "s", 4.0), at_least("speed", 5.0, "x", 4.0)], 1, "missed time: 4.1 s, target <= 4"),
    ],
)
def test_a_report_is_written_and_what_is_missed_is_said(
    tmp_path: Path, lines: list[Line], status: int, told: str
) -> None:
    path, out = tmp_path / "reports" / "some.json", io.StringIO()
    assert conclude(Console(file=out, width=200), lines, path) == status
    assert told in out.getvalue()
    assert json.loads(path.read_text()) == [line.to_json() for line in lines]


def test_the_engines_lie_in_the_folder_of_the_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path))
    assert training_file() is None
    (tmp_path / "cmapss").mkdir()
    (tmp_path / "cmapss" / "train_FD001.txt").write_text("1 1\n")
    assert training_file() == tmp_path / "cmapss" / "train_FD001.txt"
