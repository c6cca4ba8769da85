"""The command: help, runs, reports, and refusals without a traceback."""

import gzip
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fgpr.errors import NumericalError
from fgpr.experiments import cli
from fgpr.experiments.catalogue import EXPERIMENTS, experiment_named, settings_of
from fgpr.experiments.cli import app
from fgpr.experiments.experiment import Values
from fgpr.experiments.records import Cell, Record, read_records
from fgpr.experiments.runner import shard_of

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
        (["run", "table1", "--shard", "3/2"], "part 3 of 2: expected 1 to 2"),
        (["run", "table1", "--shard", "0/0"], "part 0 of 0: expected at least 1 part"),
        (["run", "table1", "--shard", "-1/2"], "--shard -1/2: expected a part and their number, as in 2/5"),
        (["run", "table1", "--shard", "a/b"], "--shard a/b: expected a part and their number, as in 2/5"),
        (["run", "table1", "--system", "gpt"], "no system 'gpt'"),
        (["run", "table1", "--engine", "dask"], "no engine is named 'dask'; there are joblib, ray"),
        (["run", "table1", "--address", "auto"], "--address auto is for --engine ray"),
        (["report"], "there are no results"),
        (["run", "table1", "--system", "separate", "--results", "FOLDER/a-file/deep"], "a-file"),
    ],
)
def test_refusals_are_one_line(command: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("")
    given = [part.replace("FOLDER", str(tmp_path)) for part in command]
    refused = RUNNER.invoke(app, given if "--results" in given else [*given, "--results", str(tmp_path)])
    assert refused.exit_code == 1
    assert not isinstance(refused.exception, OSError)
    assert reason in refused.stderr
    assert "Traceback" not in refused.output


def test_list_as_json_says_all_that_run_takes() -> None:
    listed = {one["name"]: one for one in json.loads(RUNNER.invoke(app, ["list", "--json"]).output)}
    assert listed["theorems"]["items"] == ["M=8", "M=40", "M=250"]
    assert listed["table1"]["repeats"] == 30
    assert {one["name"]: one["needs_torch"] for one in listed["sines"]["systems"]} == {"fgpr": False, "neural": True}


def test_without_pytorch_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "torch_is_here", lambda: False)
    command = ["run", "sines", "--repeats", "1", "--results", str(tmp_path)]
    asked = RUNNER.invoke(app, [*command, "--system", "neural", "--system", "fgpr"])
    assert asked.exit_code == 1
    assert "left out, since PyTorch is not installed (make setup-paper): neural" in asked.stderr
    assert [record.cell.system for record in read_records([tmp_path / "sines.jsonl"])] == ["fgpr"]
    # What nobody asked for is named and is no failure.
    whole = RUNNER.invoke(app, command)
    assert whole.exit_code == 0
    assert "neural" in whole.stderr


def test_machines_with_and_without_pytorch_share_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Cell]()
    monkeypatch.setattr(cli, "run_cells", lambda cells, *_rest: asked.extend(cells))
    for number, torch in ((1, False), (2, True), (3, True)):
        monkeypatch.setattr(cli, "torch_is_here", lambda torch=torch: torch)
        RUNNER.invoke(app, ["run", "sines", "--shard", f"{number}/3", "--results", str(tmp_path)])
    assert len(asked) == len(set(asked))
    # What is missing is the first machine's part of the networks, and that machine said so.
    cells = experiment_named("sines").cells(20)
    missing = set(cells) - set(asked)
    assert missing == {cell for cell in shard_of(cells, 1, 3) if cell.system == "neural"}


def _results(folder: Path) -> Path:
    cell = Cell("table1", "CURRIN", "corners", "fgpr", 100)
    lines = [Record(cell, settings, {"rmse": 0.05}, 1.0).line for settings in (settings_of(cell), {"rounds": 1})]
    other = Record(replace(cell, seed=101), {"rounds": 1}, {"rmse": 9.0}, 1.0).line
    (folder / "table1.jsonl").write_text("\n".join([*lines, other, ""]))
    return folder


def test_a_report_says_what_it_left_out(tmp_path: Path) -> None:
    told = RUNNER.invoke(app, ["report", "--results", str(_results(tmp_path)), "--out", str(tmp_path)])
    assert told.exit_code == 0
    assert "left out, since their settings are not the present ones: 1 of table1" in told.stderr


@pytest.mark.parametrize(
    ("option", "reason"),
    [("--json", "Is a directory"), ("--introduction", "can't decode"), ("--results", "no text in")],
)
def test_files_that_a_report_cannot_use_are_refused_in_one_line(tmp_path: Path, option: str, reason: str) -> None:
    given = {"--results": _results(tmp_path), "--out": tmp_path / "page"}
    unreadable = tmp_path / "unreadable"
    unreadable.mkdir()
    (unreadable / "table1.jsonl").write_bytes(b"\xff\xfe\n")
    given[option] = unreadable / "table1.jsonl" if option == "--introduction" else unreadable
    refused = RUNNER.invoke(app, ["report", *(part for name, path in given.items() for part in (name, str(path)))])
    assert refused.exit_code == 1
    assert reason in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "table1.jsonl"
    command = [
        "run",
        "table1",
        "--system",
        "separate",
        "--item",
        "CURRIN",
        "--variant",
        "latin",
        "--results",
        str(tmp_path),
    ]
    program = [sys.executable, "-m", "fgpr.experiments.cli", *command, "--repeats", "1000"]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL) as running:
        while not (path.is_file() and path.read_bytes().count(b"\n") >= 2):
            assert running.poll() is None
            time.sleep(0.02)
        running.kill()
    before = read_records([path])
    with path.open("a") as file:
        file.write(before[0].line[:50])
    again = RUNNER.invoke(app, [*command, "--repeats", str(len(before) + 2)])
    assert again.exit_code == 0, again.output
    assert "2 runs added" in " ".join(again.output.split())
    # Every line is whole, and no seed was run twice.
    seeds = [json.loads(line)["seed"] for line in path.read_text().splitlines()]
    assert seeds == list(range(100, 100 + len(before) + 2))


def test_a_run_that_nobody_watches_says_how_far_it_is(tmp_path: Path) -> None:
    command = ["run", "table1", "--repeats", "3", "--system", "separate", "--item", "CURRIN", "--variant", "latin"]
    told = RUNNER.invoke(app, [*command, "--results", str(tmp_path)]).output
    assert "table1: 1 of 3" in told
    assert "table1: 2 of 3" in told


def test_a_failed_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_cell: Cell) -> Values:
        raise NumericalError("no finite answer [/here]")

    monkeypatch.setitem(EXPERIMENTS, "table1", replace(EXPERIMENTS["table1"], run=broken))
    command = ["run", "table1", "--repeats", "1", "--system", "fgpr", "--item", "CURRIN", "--variant", "latin"]
    failed = RUNNER.invoke(app, [*command, "--results", str(tmp_path)])
    assert failed.exit_code == 1
    told = " ".join(failed.output.split())
    assert "1 of them failed CURRIN latin fgpr 100: NumericalError: no finite answer [/here]" in told


@pytest.mark.parametrize("name", ["table2", "table3", "table3-whole"])
@pytest.mark.parametrize(("folder", "reason"), [("nowhere", "is no folder"), (".", "is a file")])
def test_without_data_nothing_begins(
    name: str, folder: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / folder))
    refused = RUNNER.invoke(app, ["run", name, "--results", str(tmp_path / "results")])
    assert refused.exit_code == 1
    assert reason in refused.stderr
    assert "set FGPR_DATA to the" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "results").exists()


def test_a_spoilt_file_is_refused_before_anything_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path))
    (tmp_path / "cmapss").mkdir()
    whole = gzip.compress(b"1 " * 26)
    (tmp_path / "cmapss" / "train_FD001.txt.gz").write_bytes(whole[:-4])
    refused = RUNNER.invoke(app, ["run", "table2", "--results", str(tmp_path / "results")])
    assert refused.exit_code == 1
    assert "train_FD001.txt.gz: " in refused.stderr
    assert "Aborted" not in refused.output
    assert not (tmp_path / "results").exists()


def test_a_clusters_machines_have_their_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    asked = list[Cell]()
    monkeypatch.setattr(cli, "run_cells", lambda cells, *_rest: asked.extend(cells))
    command = ["run", "table2", "--repeats", "1", "--system", "fgpr", "--item", "4", "--engine", "ray"]
    told = RUNNER.invoke(app, [*command, "--address", "auto", "--results", str(tmp_path)])
    assert told.exit_code == 0, told.output
    assert [cell.item for cell in asked] == ["4"]


def test_what_is_done_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGPR_DATA", str(tmp_path / "nowhere"))
    cell = Cell("table2", "4", "", "fgpr", 100)
    (tmp_path / "table2.jsonl").write_text(Record(cell, settings_of(cell), {"rmse": 0.5}, 1.0).line + "\n")
    command = ["run", "table2", "--repeats", "1", "--system", "fgpr", "--item", "4", "--results", str(tmp_path)]
    assert RUNNER.invoke(app, command).exit_code == 0


@pytest.mark.parametrize("command", ["run", "report"])
def test_an_odd_line_is_refused_in_one_line(command: str, tmp_path: Path) -> None:
    path = _results(tmp_path) / "table1.jsonl"
    path.write_text(path.read_text().replace('"rmse": 9.0', '"rmse": null'))
    options = ["table1", "--repeats", "1"] if command == "run" else ["--out", str(tmp_path)]
    refused = RUNNER.invoke(app, [command, *options, "--results", str(tmp_path)])
    assert refused.exit_code == 1
    assert refused.stderr == (
        f"fgpr-experiments: {path}, line 3: no record of an experiment: values.rmse: found null, "
        "expected a finite number above 0; delete the line to go on\n"
    )
