"""The table of `make defences`: each line can be taken out, and modules that are all defence have no check beside."""

import ast
import re
from pathlib import Path

import pytest

from defences.defence import Defence, defence
from defences.table import DEFENCES, ROWS
from mutants.mutant import mutants
from mutants.tree import ROOT

ALL_DEFENCE = {
    "services/aggregator/auth.py",
    "services/aggregator/plain_requests.py",
    "services/aggregator/request_bodies.py",
    "services/aggregator/token_buckets.py",
    "services/aggregator/service/restoring.py",
    "services/aggregator/service/readiness.py",
    "services/aggregator/storage/database_file.py",
    "libs/fgpr/canonical.py",
    "libs/fgpr/private_keys.py",
    "services/client_agent/keyfile.py",
}
"""Modules in which every check is a defence of these rows."""

ELSEWHERE = (
    # The public halves of rosters' keys, which nothing is signed with.
    "if not isinstance(key, Ed25519PublicKey)",
    # What this program writes, not what it reads.
    "if kind is float and abs(value) >= 2**53",
)
"""Checks in them that are none."""


def test_the_rows_are_those_of_the_threat_model_that_a_service_counters() -> None:
    assert ROWS == ("1", "2", "3", "4", "5", "15", "16", "17", "18", "19", "20", "22", "23", "24")
    assert len({one.name for one in DEFENCES}) == len(DEFENCES)


@pytest.mark.parametrize("one", DEFENCES, ids=lambda one: one.name)
def test_a_defence_can_be_taken_out(one: Defence) -> None:
    source = (ROOT / one.file).read_text(encoding="utf-8")
    without = one.without()
    assert without != source
    # Another program, and not only another text.
    assert ast.dump(ast.parse(without)) != ast.dump(ast.parse(source))
    for test in one.tests:
        path, _, name = test.partition("::")
        text = (ROOT / "tests" / path).read_text(encoding="utf-8")
        assert not name or f"\ndef {name}(" in text, f"{path} has no {name}"


@pytest.mark.parametrize("file", sorted(ALL_DEFENCE))
def test_no_check_of_a_module_that_is_all_defence_is_left_out(file: str) -> None:
    covered = {line for one in DEFENCES if one.file == file for lines in one.lines() for line in lines}
    left = [
        found.name
        for found in mutants(Path(file).stem, (ROOT / file).read_text(encoding="utf-8"))
        if found.line not in covered and not any(found.text.startswith(text) for text in ELSEWHERE)
    ]
    assert left == []


def test_every_spending_of_a_nonce_is_a_defence() -> None:
    spent = sum(
        len(re.findall(r"clients\.spend_nonce\(", path.read_text(encoding="utf-8")))
        for path in (ROOT / "services").rglob("*.py")
    )
    taken_out = [one for one in DEFENCES if one.row == "1" and one.edits[0][0].startswith("clients.spend_nonce(")]
    assert len(taken_out) == spent


def test_what_does_not_stand_there_once_is_no_line_of_the_table() -> None:
    for before in ("there is no such text", "raise Unauthenticated"):
        with pytest.raises(ValueError, match="stands there"):
            defence("1", "x", "services/aggregator/auth.py", before, tests="x").without()
    with pytest.raises(ValueError, match="of the name"):
        defence("1", "x", "services/aggregator/auth.py", "x", tests="x", inside="nowhere").places()
