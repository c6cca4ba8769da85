import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from aggregator.storage.tables import metadata, nonces
from aggregator.storage.tables import rounds as table
from fgpr.errors import EncodingError
from fgpr.message import timestamp
from fgpr.rest import RoundList
from support.aggregator import Aggregator


@pytest.fixture
def kathmandu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server far from UTC, by an odd three quarters of an hour."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("kathmandu")
def test_a_deadline_with_another_zone_is_the_same_instant(aggregator: Aggregator) -> None:
    """Case E8: SQLite dropped the zone, and the deadline was 8 h off."""
    (party, *_) = aggregator.enrol(4)
    aggregator.advance()
    deadline = datetime.fromisoformat("2031-03-09T13:30:00-08:00")
    with aggregator.context.database.write() as connection:
        connection.execute(table.update().values(contribute_until=deadline))
    row = aggregator.round(1)
    assert row.contribute_until == datetime(2031, 3, 9, 21, 30, tzinfo=UTC)
    assert timestamp(row.contribute_until) == "2031-03-09T21:30:00.000Z"
    with aggregator.context.database.read() as connection:
        # Compared in the database too.
        since = datetime.fromisoformat("2031-03-09T21:00:00+00:00")
        query = select(table.c.number).where(table.c.contribute_until >= since)
        assert connection.execute(query).scalars().all() == [1]
        later = datetime.fromisoformat("2031-03-10T03:16:00+05:45")
        query = select(table.c.number).where(table.c.contribute_until >= later)
        assert connection.execute(query).scalars().all() == []
    listed = RoundList.decode(party.api.get("rounds")).rounds
    assert listed[0].contribute_until == "2031-03-09T21:30:00.000Z"
    # The round closes at that instant.
    aggregator.clock.now = datetime(2031, 3, 9, 21, 29, 59, tzinfo=UTC)
    aggregator.advance()
    assert aggregator.last_round() == 1
    aggregator.clock.forward(1)
    aggregator.advance()
    assert aggregator.last_round() == 2


def test_a_time_without_a_zone_is_refused(aggregator: Aggregator) -> None:
    naive = datetime.fromisoformat("2031-03-09T13:30:00")
    before = aggregator.dump()
    with pytest.raises(Exception, match="no time zone") as raised, aggregator.context.database.write() as connection:
        connection.execute(nonces.insert().values(key_id="k", nonce="n", expires_at=naive))
    assert isinstance(raised.value, EncodingError) or isinstance(raised.value.__cause__, EncodingError)
    assert aggregator.dump() == before


def test_no_column_for_what_must_not_be_there() -> None:
    names = {f"{table.name}.{column.name}" for table in metadata.tables.values() for column in table.columns}
    for word in ("private", "mask.", "update", "theta", "password"):
        assert not [name for name in names if word in name]
    assert "tickets.secret" not in names
    assert "tickets.secret_hash" in names
