"""The journal: written once and whole, byte for byte after any crash, for one agent at a time."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from client_agent import journal
from client_agent.journal import Journal
from client_agent.opening_keys import OpeningKeys
from fgpr.errors import CryptographicError, EncodingError, LocalProtocolError
from fgpr.secagg.history import Revocations
from fgpr.secagg.messages import LogPosition
from support import agent_home
from support.federation import Federation

VALUES = np.array([0.1, -0.9, 3.0])
NOWHERE = LogPosition(size=0, root=bytes(32))


@pytest.fixture(scope="module")
def federation():
    """One published round and a second plan; nothing here changes it."""
    federation = Federation(4)
    federation.run(dict.fromkeys(federation.names, (VALUES, 5)))
    agent_home.plan(federation)
    return federation


def parts(federation, number=1):
    state = federation.rounds[number]
    return state.plan, state.roster, state.cohort


def test_everything_comes_back(federation, tmp_path):
    plan, roster, cohort = parts(federation)
    with Journal(tmp_path / "home") as book:
        assert book.history(None).rounds == ()
        book.record_plan(plan, roster)
        book.write_contribution(1, b"the body")
        book.write_opening(1, cohort, b"the answer")
        book.record_plan(*parts(federation, 2)[:2])
        book.mark_ended(1)
        before = book.history(NOWHERE)
    with Journal(tmp_path / "home") as book:
        assert book.history(NOWHERE) == before
        assert (book.last_round, book.last_ended) == (2, 1)
        assert (book.contribution(1), book.opening(1)) == (b"the body", b"the answer")
        assert (book.contribution(2), book.opening(2)) == (None, None)
    first, second = before.rounds
    assert (first.plan, first.contributed, first.opened) == (plan.message, True, cohort.message)
    assert (second.contributed, second.opened) == (False, None)
    # Opening keys are those of the plans: each member's second one stands in the second plan.
    assert dict(before.serials) == dict.fromkeys(federation.names, 2)
    assert (before.prior_version, before.roster_version, before.checkpoint) == (1, 1, NOWHERE)


def test_nothing_is_written_twice(federation, tmp_path):
    plan, roster, cohort = parts(federation)
    with Journal(tmp_path) as book:
        with pytest.raises(LocalProtocolError, match="no contribution to round 1"):
            book.write_contribution(1, b"before its plan")
        with pytest.raises(LocalProtocolError, match="no opening of round 1"):
            book.write_opening(1, cohort, b"before its plan")
        book.record_plan(plan, roster)
        book.write_contribution(1, b"first")
        with pytest.raises(LocalProtocolError, match="no contribution"):
            book.write_contribution(1, b"second")
        book.write_opening(1, cohort, b"first")
        with pytest.raises(LocalProtocolError, match="no opening"):
            book.write_opening(1, cohort, b"second")
        with pytest.raises(LocalProtocolError, match="after round 1 was recorded"):
            book.record_plan(plan, roster)
    with Journal(tmp_path) as book:
        with pytest.raises(LocalProtocolError, match="no contribution"):
            book.write_contribution(1, b"second")
        assert book.contribution(1) == b"first"
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"second" in path.read_bytes()]


def test_a_file_that_appears_behind_its_back_is_not_replaced(federation, tmp_path):
    with Journal(tmp_path) as book:
        book.record_plan(*parts(federation)[:2])
        (tmp_path / "rounds" / "000001" / "contribution.json").write_bytes(b"first")
        with pytest.raises(LocalProtocolError, match="never written twice"):
            book.write_contribution(1, b"second")
        assert book.contribution(1) == b"first"


def test_no_contribution_after_the_round_was_opened_or_overtaken(federation, tmp_path):
    plan, roster, cohort = parts(federation)
    with Journal(tmp_path) as book:
        book.record_plan(plan, roster)
        book.write_opening(1, cohort, b"answer")
        with pytest.raises(LocalProtocolError, match="no contribution"):
            book.write_contribution(1, b"late")
        book.record_plan(*parts(federation, 2)[:2])
        with pytest.raises(LocalProtocolError, match="no contribution"):
            book.write_contribution(1, b"later")


def test_one_agent_a_home(tmp_path):
    with Journal(tmp_path):
        with pytest.raises(LocalProtocolError, match="another agent uses"):
            Journal(tmp_path)
        code = f"from pathlib import Path; from client_agent.journal import Journal; Journal(Path({str(tmp_path)!r}))"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another agent uses" in other.stderr
    Journal(tmp_path).close()


def test_only_the_owner_reads_it(federation, tmp_path):
    plan, roster, cohort = parts(federation)
    home = tmp_path / "home"
    before = os.umask(0)
    try:
        with Journal(home) as book:
            book.record_plan(plan, roster)
            book.write_contribution(1, b"body")
            book.write_opening(1, cohort, b"answer")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [home, *home.rglob("*")]}
    folders = {"home", "rounds", "000001"}
    assert {name for name, mode in modes.items() if mode == 0o700} == folders
    assert {mode for name, mode in modes.items() if name not in folders} == {0o600}


def test_home_that_others_can_write_is_refused(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    with pytest.raises(CryptographicError, match="chmod 700"):
        Journal(tmp_path / "home")


@pytest.mark.parametrize("name", ["numbers.json", "rounds/000001/plan.json", "rounds/000001/opening.json"])
@pytest.mark.parametrize("content", [b"", b"{}!", b'{"last_round":-1}'])
def test_damaged_file_is_named(federation, tmp_path, name, content):
    plan, roster, cohort = parts(federation)
    with Journal(tmp_path) as book:
        book.record_plan(plan, roster)
        book.write_opening(1, cohort, b"answer")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EncodingError, match=f"{name} is damaged"):
        Journal(tmp_path)
    # The failed start let go of the home.
    (tmp_path / name).unlink()
    Journal(tmp_path).close()


def test_rounds_of_other_thetas_are_pruned_and_their_numbers_stay(federation, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "KEPT_ROUNDS", 3)
    plan, roster, _ = parts(federation)

    def record(book, number, theta):
        message = plan.message.model_copy(
            update={"round": number, "theta_version": theta, "prior_version": number, "seats": plan.message.seats[:1]}
        )
        book.record_plan(federation.signed(message).model_copy(), roster)

    with Journal(tmp_path) as book:
        book.record_plan(federation.signed(plan.message.model_copy(update={"theta_version": 1})), roster)
        for number in range(2, 6):
            record(book, number, number)
        assert [past.plan.round for past in book.history(None).rounds] == [3, 4, 5]
        # Round 5's theta is carried on: its rounds stay, however many they get.
        for number in range(6, 12):
            record(book, number, 5)
        assert [past.plan.round for past in book.history(None).rounds] == list(range(5, 12))
    with Journal(tmp_path) as book:
        history = book.history(None)
        assert [past.plan.round for past in history.rounds] == list(range(5, 12))
        assert (history.last_round, history.prior_version) == (11, 11)
        assert set(history.serials) == set(federation.names)
    assert sorted(path.name for path in (tmp_path / "rounds").iterdir()) == [f"{n:06d}" for n in range(5, 12)]


def test_revocations_stay_when_plans_come_rounds_end_and_old_ones_are_pruned(federation, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "KEPT_ROUNDS", 1)
    read = Revocations(position=NOWHERE, roster_version=1, clients=frozenset({"client-03", "client-01"}))
    with Journal(tmp_path) as book:
        book.record_plan(*parts(federation)[:2])
        assert book.history(None).revocations is None
        book.record_revocations(read)
        assert book.history(None).revocations == read
    with Journal(tmp_path) as book:
        assert book.history(None).revocations == read
        book.record_plan(*parts(federation, 2)[:2])
        book.mark_ended(1)
        assert [past.plan.round for past in book.history(None).rounds] == [2]
    with Journal(tmp_path) as book:
        assert book.history(None).revocations == read
        further = read.model_copy(update={"clients": read.clients | {"client-02"}})
        book.record_revocations(further)
        assert book.history(None).revocations == further
    # One spelling, whatever the order in memory.
    stored = json.loads((tmp_path / "numbers.json").read_text())["revocations"]["clients"]
    assert stored == ["client-01", "client-02", "client-03"]


def test_half_pruned_round_and_drafts_are_cleared(federation, tmp_path):
    with Journal(tmp_path) as book:
        book.record_plan(*parts(federation)[:2])
    half = tmp_path / "rounds" / "000000"
    half.mkdir()
    (half / "contribution.json").write_bytes(b"of a round that was pruned")
    (tmp_path / "rounds" / "000001" / ".contribution.json.77").write_bytes(b"a draft")
    with Journal(tmp_path) as book:
        assert not half.exists()
        assert book.contribution(1) is None
    assert not list((tmp_path / "rounds").rglob(".*"))


LIVES = """
import itertools, json, os, signal, sys
from pathlib import Path
from client_agent.journal import Journal
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, Plan
from fgpr.secagg.roster import Roster

folder, when = Path(sys.argv[1]), sys.argv[2]
read = lambda kind, name: Signed[kind].decode((folder / name).read_bytes())
plan, roster, cohort = read(Plan, "plan"), read(Roster, "roster"), read(Cohort, "cohort")

def serve(home, say):
    with Journal(home) as book:
        if book.round(1) is None:
            book.record_plan(plan, roster)
        if book.contribution(1) is None:
            book.write_contribution(1, os.urandom(16))
        say(book.contribution(1))
        if book.opening(1) is None:
            book.write_opening(1, cohort, os.urandom(16))
        say(book.opening(1))
        book.mark_ended(1)

def life(home, fatal):
    # The sent bodies, and whether it was killed at call number `fatal`.
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        send, kill, calls = os.write, os.kill, itertools.count(1)
        def deadly(real):
            def call(*args, **options):
                mine = next(calls) == fatal
                if mine and when == "before":
                    kill(os.getpid(), signal.SIGKILL)
                try:
                    return real(*args, **options)
                finally:
                    if mine:
                        kill(os.getpid(), signal.SIGKILL)
            return call
        for name in ("open", "mkdir", "fsync", "link", "replace", "unlink", "rmdir"):
            setattr(os, name, deadly(getattr(os, name)))
        serve(home, lambda body: send(outlet, body))
        os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet, "rb") as said:
        sent = said.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return sent, code != 0

for fatal in itertools.count(1):
    home = folder / f"home-{fatal}"
    sent, killed = life(home, fatal)
    again, killed_again = life(home, 0)
    print(json.dumps({"killed": killed, "sent": sent.hex(), "again": again.hex(), "ended": not killed_again}))
    if not killed:
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_each_call_that_touches_the_disk(federation, tmp_path, when):
    """kill -9 at every such call, then on: what was sent before is what is sent after."""
    for name, document in zip(("plan", "roster", "cohort"), parts(federation), strict=True):
        (tmp_path / name).write_bytes(document.encode())
    done = subprocess.run(
        [sys.executable, "-c", LIVES, str(tmp_path), when], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lives = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lives) > 30
    assert [each["killed"] for each in lives] == [True] * (len(lives) - 1) + [False]
    for each in lives:
        assert each["ended"]
        assert len(each["again"]) == 64
        assert each["again"].startswith(each["sent"])


def test_opening_keys_retire(tmp_path):
    keys = OpeningKeys(tmp_path)
    made = {serial: X25519PrivateKey.generate() for serial in (1, 2, 10)}
    for serial, key in made.items():
        keys.add(serial, key)
    assert keys.serials() == (1, 2, 10)
    with pytest.raises(CryptographicError, match="exists already"):
        keys.add(2, made[1])
    assert keys.get(2).private_bytes_raw() == made[2].private_bytes_raw()
    keys.retire(2)
    assert (keys.serials(), keys.get(1)) == ((2, 10), None)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "opening-keys").iterdir()} == {0o600}
    (tmp_path / "opening-keys" / "10.key").write_bytes(b"short")
    with pytest.raises(CryptographicError, match=r"10\.key is damaged"):
        keys.get(10)
