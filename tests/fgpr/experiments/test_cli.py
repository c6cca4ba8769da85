"""The command: help, runs, reports, and refusals without a traceback."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fgpr.experiments.cli import app
from fgpr.experiments.records import read_records

RUNNER = CliRunner()


def test_help_and_list_say_what_there_is() -> None:
    assert "one line of JSON a result" in RUNNER.invoke(app, ["--help"]).output
    listed = RUNNER.invoke(app, ["list"]).output
    for name in ("table1", "table2", "table3", "example1", "theorems", "ablation"):
        assert name in listed


def test_run_then_report(tmp_path: Path) -> None:
    command = ["run", "table1", "--repeats", "2", "--system", "separate", "--item", "CURRIN", "--variant", "latin"]
    done = RUNNER.invoke(app, [*command, "--results", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "2 runs added" in " ".join(done.output.split())
    again = RUNNER.invoke(app, [*command, "--results", str(tmp_path)])
    assert "0 runs added" in " ".join(again.output.split())
    assert {record.cell.seed for record in read_records([tmp_path / "table1.jsonl"])} == {100, 101}
    out = tmp_path / "page"
    report = RUNNER.invoke(
        app, ["report", "--results", str(tmp_path), "--out", str(out), "--json", str(tmp_path / "targets.json")]
    )
    assert report.exit_code == 0, report.output
    assert "Separate, RBF" in (out / "experiments.md").read_text()
    targets = json.loads((tmp_path / "targets.json").read_text())
    assert {"name", "value", "target", "met", "seeds"} == targets[0].keys()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["run", "table9"], "no experiment is named 'table9'"),
        (["run", "table1", "--shard", "two"], "--shard two"),
        (["run", "table1", "--shard", "3/2"], "part 3 of 2"),
        (["run", "table1", "--system", "gpt"], "no system 'gpt'"),
        (["report"], "there are no results"),
    ],
)
def test_refusals_are_one_line(command: list[str], reason: str, tmp_path: Path) -> None:
    refused = RUNNER.invoke(app, [*command, "--results", str(tmp_path)])
    assert refused.exit_code == 1
    assert reason in refused.stderr
    assert "Traceback" not in refused.output


def test_a_failed_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    command = ["run", "table2", "--repeats", "1", "--system", "fgpr", "--item", "4", "--results", str(tmp_path)]
    failed = RUNNER.invoke(app, command)
    assert failed.exit_code == 1
    assert "set FGPR_DATA" in failed.output
