import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from sqlalchemy import text

from aggregator.service import enrolment, steering
from aggregator.storage import announcements
from aggregator.storage.announcements import LISTENER_NAME, Listener, announce
from fgpr.operator_rest import StateRequest
from support.aggregator import Aggregator, wait_until
from support.client import NAME

only_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@dataclass
class Ear:
    """What a listener told."""

    count: int = 0
    told: list[bool] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def heard(self) -> None:
        with self._lock:
            self.count += 1

    def hears_one_more(self, act: Callable[[], object]) -> None:
        before = self.count
        act()
        wait_until(lambda: self.count > before)


@pytest.fixture
def ear(aggregator: Aggregator) -> Iterator[Ear]:
    made = Ear()
    listener = Listener(aggregator.settings.database, made.heard, made.told.append)
    listener.start()
    if not aggregator.context.database.is_sqlite:
        # Once when it begins: what was announced before may have been missed.
        wait_until(lambda: made.count == 1)
    yield made
    listener.stop()
    assert made.told[-1:] in ([], [False])


@only_postgresql
def test_whatever_changes_a_round_is_announced(aggregator: Aggregator, ear: Ear) -> None:
    aggregator.enrol(4)
    assert ear.count == 1
    ear.hears_one_more(aggregator.advance)
    ear.hears_one_more(lambda: enrolment.revoke(aggregator.context, NAME, "client-03"))
    ear.hears_one_more(aggregator.pass_contributing)
    pause = StateRequest(state="paused", reason="as agreed").encode()
    ear.hears_one_more(lambda: steering.change_state(aggregator.context, None, NAME, pause))


@only_postgresql
def test_what_is_rolled_back_is_not_announced(aggregator: Aggregator, ear: Ear) -> None:
    def fail() -> None:
        with aggregator.context.database.write() as connection:
            announce(connection, "rolled back")
            raise ZeroDivisionError

    def commit() -> None:
        with aggregator.context.database.write() as connection:
            announce(connection, "one")
            # The same words in one transaction are one announcement.
            announce(connection, "one")

    with pytest.raises(ZeroDivisionError):
        fail()
    ear.hears_one_more(commit)
    assert ear.count == 2


@only_postgresql
def test_a_lost_connection_is_made_again(aggregator: Aggregator, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "RETRY_SECONDS", 0.01)
    assert ear.told == [True]
    with aggregator.context.database.write() as connection:
        query = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name")
        assert connection.execute(query, {"name": LISTENER_NAME}).scalars().all() == [True]
    # It says that nobody tells now, listens anew, and lets everybody look at what may have been missed.
    wait_until(lambda: ear.count == 2)
    assert ear.told == [True, False, True]
    aggregator.enrol(4)
    ear.hears_one_more(aggregator.advance)


@only_postgresql
def test_a_connection_that_is_quiet_is_tried(aggregator: Aggregator, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "PROBE_EVERY", 1)
    query = text("SELECT query FROM pg_stat_activity WHERE application_name = :name")

    def last() -> str:
        with aggregator.context.database.read() as connection:
            return str(connection.execute(query, {"name": LISTENER_NAME}).scalar_one())

    wait_until(lambda: last() == "SELECT 1")
    aggregator.enrol(4)
    ear.hears_one_more(aggregator.advance)


@only_sqlite
def test_sqlite_tells_nobody(aggregator: Aggregator, ear: Ear) -> None:
    aggregator.enrol(4)
    aggregator.advance()
    assert (ear.count, ear.told) == (0, [])


def test_a_database_that_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "RETRY_SECONDS", 0.01)
    ear = Ear()
    listener = Listener("postgresql+psycopg://nobody@/x?host=/nowhere", ear.heard, ear.told.append)
    listener.start()
    wait_until(lambda: len(ear.told) >= 2)
    listener.stop()
    assert set(ear.told) == {False}
    assert ear.count == 0
