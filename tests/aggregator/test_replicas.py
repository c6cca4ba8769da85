"""Several processes on one database: any of them serves any request, and each effect happens once."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest

from aggregator.routes import rounds as routes
from aggregator.service import bell, inspection, schedule
from aggregator.service.bell import Bell
from aggregator.storage import federations
from aggregator.storage.announcements import Listener
from aggregator.storage.engine import Database
from fgpr.errors import Conflict, Unavailable
from fgpr.rest import EnrolmentReceipt, RoundView
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, free_port, together, wait_until
from support.client import NAME
from support.party import Party
from support.replicas import Balanced, Replicas, Snapshot, two_replicas

PROCESSES = 4
DOUBLES = {"sqlite": 10, "postgresql": 50}
"""Of each of two transitions, with the federation's lock and without it: 200 in all on PostgreSQL."""


@pytest.fixture
def replicas(tmp_path: Path, database_url: str) -> Iterator[Replicas]:
    with two_replicas(tmp_path, database_url) as made:
        yield made


@pytest.mark.slow
def test_four_processes_start_at_once_on_an_empty_database(tmp_path: Path, empty_database_url: str) -> None:
    """Case E10: one schema, one key, one log, and nothing on standard error."""
    origin, ports = f"http://127.0.0.1:{free_port()}", [free_port() for _ in range(PROCESSES)]
    environment = os.environ | {
        "FGPR_DATABASE": empty_database_url,
        "FGPR_KEYS": str(tmp_path / "keys"),
        "FGPR_ORIGIN": origin,
        "FGPR_LOG_REQUESTS": "false",
    }
    cli = f"{sys.executable} -W error -m aggregator.cli"
    processes = [
        subprocess.Popen(
            ["sh", "-c", f"{cli} migrate && exec {cli} serve --listen 127.0.0.1:{port}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=tmp_path,
        )
        for port in ports
    ]
    try:
        notes = {_checkpoint(port, process) for port, process in zip(ports, processes, strict=True)}
    finally:
        for process in processes:
            process.terminate()
        told = [process.communicate(timeout=60) for process in processes]
    assert [err for _, err in told] == [b""] * PROCESSES
    assert all(b"is ready" in out for out, _ in told)
    # One log, signed with the one key.
    (note,) = notes
    assert note.splitlines()[1] == "0"
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["checkpoint.note", "service.pem"]
    database = Database(empty_database_url)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all() == ["0011"]
        assert connection.exec_driver_sql("SELECT id, size FROM log_head").all() == [(1, 0)]
    database.close()


def _checkpoint(port: int, process: "subprocess.Popen[bytes]") -> str:
    end = time.monotonic() + 120
    while True:
        try:
            return str(httpx.get(f"http://127.0.0.1:{port}/v1/log/checkpoint").json()["note"])
        except httpx.TransportError:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)


def test_any_replica_serves_any_request(replicas: Replicas) -> None:
    parties = [replicas.party(f"client-{number:02d}") for number in range(4)]
    for number in (1, 2):
        wait_until(lambda number=number: replicas.first.last_round() == number)
        for party in parties:
            assert party.contribute().counted
        wait_until(lambda number=number: replicas.first.round(number).stage is Stage.OPENING)
        for party in parties:
            party.open()
        wait_until(lambda number=number: replicas.first.round(number).stage is Stage.PUBLISHED)
    kinds = replicas.first.kinds()
    assert [kinds.count(kind) for kind in ("cohort", "prior")] == [2, 3]
    inspection.verify_database(replicas.first.context.database, replicas.first.anchors())


def test_a_request_taken_by_one_replica_has_no_effect_at_the_other(replicas: Replicas) -> None:
    parties = [replicas.party(f"client-{number:02d}") for number in range(4)]
    wait_until(lambda: replicas.first.last_round() == 1)
    parties[0].contribute()
    transport = parties[0].transport
    assert isinstance(transport, Balanced)
    taken, before = transport.requests[-1], replicas.first.dump()
    assert taken.method == "PUT"
    for port in replicas.ports:
        assert transport.again(transport.towards(taken, port)).status_code == 401
    assert replicas.first.dump() == before


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_poll_at_one_replica_is_woken_by_the_other(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without an announcement it would wait for longer than the poll lasts.
    monkeypatch.setattr(bell, "LOOK_AGAIN", 3600.0)
    monkeypatch.setattr(bell, "LOOK_AGAIN_LISTENING", 3600.0)
    rang, real = [], Bell.wait

    def wait(waiting: Bell, rings: int, seconds: float) -> bool:
        begun.set()
        rang.append(real(waiting, rings, seconds))
        return rang[-1]

    begun = threading.Event()
    monkeypatch.setattr(Bell, "wait", wait)
    with two_replicas(tmp_path, database_url, keeps_deadlines=False) as replicas:
        parties = [replicas.party(f"client-{number:02d}") for number in range(4)]
        replicas.first.advance()
        heard = threading.Event()
        listener = Listener(database_url, heard.set, replicas.second.bell.listen)
        listener.start()
        assert heard.wait(30)
        listener.stop()
        listener = Listener(database_url, replicas.second.bell.ring, replicas.second.bell.listen)
        listener.start()
        wait_until(lambda: replicas.second.bell.rings >= 2)

        seen = parties[0].view().state
        parties[0].transport = Balanced(replicas.ports[1:])
        api = parties[0].api_as(parties[0].client.identity_key, replicas.first.clock)
        with api, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(api.get, "rounds/current", {"seen": seen, "wait": 30})
            assert begun.wait(30)
            assert not rang
            replicas.first.pass_contributing()
            view = RoundView.decode(asked.result())
        listener.stop()
    # Woken by the first of the two transitions, the abort, whether or not the second one was made by then.
    assert [one.plan.message.round for one in view.aborted] == [1]
    assert rang
    assert all(rang)


class Doubles:
    """A round just before a transition, put back after each time that two replicas were told to make it at once."""

    def __init__(self, aggregator: Aggregator, parties: list[Party]) -> None:
        self.aggregator, self.parties = aggregator, parties
        self.others = [aggregator.second_replica() for _ in range(2)]

    def advance(self, times: int, kinds: list[str], stage: Stage) -> list[object]:
        """What each gave or raised; after each time exactly these leaves are new."""
        database = self.aggregator.context.database
        snapshot, before = Snapshot(database), self.aggregator.raw_leaves()
        priors, given = self.aggregator.prior().version, []
        for double in range(times):
            given += together([partial(schedule.advance, one, NAME) for one in self.others])
            assert self.aggregator.kinds()[len(before) :] == kinds
            assert self.aggregator.round(1).stage is stage
            assert self.aggregator.prior().version == priors + kinds.count("prior")
            if not double:
                inspection.verify_database(database, self.aggregator.anchors())
            snapshot.restore(database)
            assert self.aggregator.raw_leaves() == before
        return given

    def close(self) -> None:
        for one in self.others:
            one.database.close()


@pytest.fixture
def doubles(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doubles]:
    """A federation in which no request does what is due."""
    monkeypatch.setattr(routes, "_advance", lambda *_: None)
    made = Doubles(aggregator, aggregator.enrol(4))
    aggregator.advance()
    yield made
    made.close()


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "as if nothing were locked"])
def test_doubled_transitions_happen_once(doubles: Doubles, lock: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    read = federations.read
    if not lock:
        # A replica that was paused after it looked: only the conditional update can stop it now.
        monkeypatch.setattr(federations, "read", lambda connection, name, **_: read(connection, name))
    for party in doubles.parties:
        party.contribute()
    times = DOUBLES["sqlite" if doubles.aggregator.context.database.is_sqlite else "postgresql"]
    given = doubles.advance(times, ["cohort"], Stage.OPENING)
    doubles.aggregator.advance()
    for party in doubles.parties:
        party.open()
    given += doubles.advance(times, ["prior", "plan"], Stage.PUBLISHED)
    assert len(given) == 4 * times
    lost = [one for one in given if one is not None]
    # Without the lock the second may find that the first one erased what it is about to add up.
    assert {type(one) for one in lost} <= (set() if lock else {Unavailable, Conflict, KeyError})


def test_fifty_enrolments_race_for_one_ticket_at_two_replicas(replicas: Replicas) -> None:
    """Threat 5: one identity, whichever replica each of them asks."""
    aggregator = replicas.first
    ticket = aggregator.invite("bench-1")
    parties = [
        Party(ticket, Balanced([replicas.ports[number % 2]]), aggregator.clock, aggregator.context.random_bytes)
        for number in range(50)
    ]
    results = together([party.enrol for party in parties])
    for party in parties:
        party.api.close()
    winners = [party for party, result in zip(parties, results, strict=True) if isinstance(result, EnrolmentReceipt)]
    assert len(winners) == 1
    assert all(isinstance(result, EnrolmentReceipt | Conflict) for result in results)
    assert [row[3] for row in aggregator.dump()["clients"]] == [winners[0].client.public_key()]
    assert aggregator.kinds() == ["federation", "prior", "ticket", "enrolled", "opening-key"]
