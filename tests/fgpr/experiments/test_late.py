"""Packages that are loaded late: not before they are used, and named where they are not there."""

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fgpr.experiments.catalogue import settings_of
from fgpr.experiments.late import Late, installed, load_installed
from fgpr.experiments.records import Cell, Record

with_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed (make setup-paper)")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "sleepy_package.py").write_text("import warnings\nwarnings.warn('old')\nANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "sleepy_package", raising=False)
    return "sleepy_package"


def test_a_package_is_loaded_when_a_part_of_it_is_used(package: str) -> None:
    late = Late(package)
    assert installed(package)
    assert not hasattr(late, "__wrapped__")
    assert package not in sys.modules
    assert late.ANSWER == 42
    assert package in sys.modules
    with pytest.raises(AttributeError, match="QUESTION"):
        _ = late.QUESTION
    del sys.modules[package]


def test_what_is_there_is_loaded_and_the_rest_is_not_missed(package: str) -> None:
    load_installed("no_such_package", package)
    assert package in sys.modules
    assert not installed(package, "no_such_package")
    del sys.modules[package]


@with_torch
@pytest.mark.slow
def test_only_what_computes_with_pytorch_loads_it(tmp_path: Path) -> None:
    cell = Cell("ablation", "0.17", "", "fgpr", 100)
    (tmp_path / "ablation.jsonl").write_text(Record(cell, settings_of(cell), {"rmse": 0.1}, 1.0).line + "\n")
    commands = [
        ["--help"],
        ["list", "--json"],
        ["report", "--results", str(tmp_path), "--out", str(tmp_path)],
        ["run", "table1", "--repeats", "1", "--item", "CURRIN", "--system", "separate", "--results", str(tmp_path)],
    ]
    program = """
import json, sys
from typer.testing import CliRunner
from fgpr.experiments.cli import app
for command in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    print(sorted({"torch", "gpytorch", "linear_operator"} & sys.modules.keys()))
"""
    told = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)], check=True, capture_output=True, text=True
    )
    assert told.stdout.splitlines() == ["[]"] * 4


@with_torch
@pytest.mark.slow
def test_a_cell_that_loads_pytorch_has_one_thread_too(tmp_path: Path) -> None:
    program = """
from dataclasses import replace
from fgpr.experiments import catalogue
from fgpr.experiments.records import Cell
from fgpr.experiments.runner import run_cell

def threads(cell):
    import torch
    return {"rmse": torch.get_num_threads()}

catalogue.EXPERIMENTS["sines"] = replace(catalogue.EXPERIMENTS["sines"], run=threads)
print(run_cell(Cell("sines", "sines", "", "neural", 100)).values)
"""
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"OMP_NUM_THREADS": "3"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout == "{'rmse': 1}\n"
