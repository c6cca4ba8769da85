"""The short form of `make kill`, in a process of its own: it forks, and tests have threads."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kills.faults import missing_tool
from kills.script import ENDS, acts

TESTS = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


def campaign(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, lines of the report by name, and what was printed."""
    report = folder / "kill.json"
    done = subprocess.run(
        [sys.executable, "-m", "kills", "--quick", "--jobs", "1", "--report", str(report), *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, {line["name"]: line for line in json.loads(report.read_text())}, done.stdout


def test_killed_at_every_commit_of_a_change_the_rounds_end_as_if_nothing_had_happened(tmp_path: Path) -> None:
    status, lines, printed = campaign(tmp_path)
    assert status == 0, printed
    assert lines["sqlite: commit faults injected"]["value"] >= 40
    assert lines["sqlite: statement faults injected"]["value"] >= 5
    assert all(line["value"] == 0 for name, line in lines.items() if name.endswith("broken"))


def test_an_audit_entry_in_its_own_transaction_is_found(tmp_path: Path) -> None:
    status, lines, printed = campaign(tmp_path, "--planted-bug", "--acts", "2")
    assert status == 1
    assert lines["sqlite: commit faults injected"]["met"]
    assert lines["sqlite: commit faults broken"]["value"] >= 2
    assert "roster 1 of engines names client-00: never enrolled" in " ".join(printed.split())


@pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))
def test_system_calls_that_fail_while_it_starts_and_writes_break_nothing(tmp_path: Path) -> None:
    status, lines, printed = campaign(tmp_path, "--only", "syscalls", "--acts", "2")
    assert status == 0, printed
    for kind in ("KILL", "EIO", "ENOSPC"):
        assert lines[f"syscalls: {kind} faults injected"]["value"] >= 3


def test_a_replica_that_was_paused_and_what_a_proxy_loses_break_nothing(tmp_path: Path) -> None:
    """While the last client contributes, which closes the round; `make pause` does it everywhere, on both databases."""
    status, lines, printed = campaign(tmp_path, "--only", "losses", "paused-sqlite", "--from-act", "10", "--acts", "10")
    assert status == 0, printed
    for lost in ("request", "answer"):
        assert lines[f"losses: {lost} faults injected"]["value"] >= 2
    assert lines["paused-sqlite: commit faults injected"]["value"] >= 4


def test_the_script_ends_rounds_in_every_way() -> None:
    assert {act.chapter for act in acts()} == ENDS.keys()
    assert list(ENDS.values())[-1] == ("published", "void", "carried")
    assert len({(act.chapter, act.name) for act in acts()}) == len(acts())
