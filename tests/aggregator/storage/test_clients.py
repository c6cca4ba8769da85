from dataclasses import replace
from datetime import timedelta

import pytest

from aggregator.storage import clients, installation
from aggregator.storage.clients import ClientRow, TicketRow
from fgpr.errors import Conflict, QuotaExceeded, Unauthenticated
from fgpr.message import Signed
from fgpr.secagg.messages import OpeningKey
from support.aggregator import Aggregator
from support.client import NAME


def test_a_ticket_is_taken_once(aggregator: Aggregator) -> None:
    row = TicketRow(bytes(32), NAME, "bench", "client", aggregator.clock() + timedelta(days=1), None)
    database = aggregator.context.database
    with database.write() as connection:
        clients.add_ticket(connection, row)
        assert clients.read_ticket(connection, bytes(32)) == row
        assert clients.read_ticket(connection, b"\1" * 32) is None
        assert clients.take_ticket(connection, bytes(32), b"key one")
        assert not clients.take_ticket(connection, bytes(32), b"key two")
        assert not clients.take_ticket(connection, b"\1" * 32, b"key two")
        taken = clients.read_ticket(connection, bytes(32))
    assert taken is not None
    assert taken.used_by == b"key one"


def test_ids_and_keys_are_unique(aggregator: Aggregator) -> None:
    database, now = aggregator.context.database, aggregator.clock()
    row = ClientRow(NAME, "bench", "client", bytes(32), None, b"{}")
    with database.write() as connection:
        clients.add_client(connection, row, "key id", now)
    for other, key_id in ((row, "another key id"), (ClientRow(NAME, "else", "client", b"k", None, b""), "key id")):
        with pytest.raises(Conflict, match="enrolled already"), database.write() as connection:
            clients.add_client(connection, other, key_id, now)
    with database.read() as connection:
        assert clients.read_client(connection, NAME, "bench") == row
        assert clients.read_client(connection, "another", "bench") is None
        assert clients.read_key_holder(connection, "key id") == row
        assert clients.read_key_holder(connection, "another key id") is None


def test_a_row_that_is_revoked_meanwhile_gets_no_other_key(aggregator: Aggregator) -> None:
    aggregator.enrol(1)
    with aggregator.context.database.write() as connection:
        row = clients.read_client(connection, NAME, "client-00")
        assert row is not None
        assert clients.revoke(connection, NAME, "client-00", aggregator.clock())
        assert not clients.replace_key(connection, row, bytes(32), "another key id", None)
        assert not clients.replace_key(connection, replace(row, identity_key=bytes(32)), bytes(32), "another", None)


def test_readers_stand_in_no_roster(aggregator: Aggregator) -> None:
    aggregator.party("z-reader", "reader").enrol()
    aggregator.enrol(2)
    with aggregator.context.database.write() as connection:
        assert [row.client for row in clients.read_admitted(connection, NAME)] == ["client-00", "client-01"]
        assert clients.read_revoked(connection, NAME) == set()
        assert clients.revoke(connection, NAME, "client-00", aggregator.clock())
        assert not clients.revoke(connection, NAME, "client-00", aggregator.clock() + timedelta(1))
        assert clients.read_revoked(connection, NAME) == {"client-00"}
        (first, _) = clients.read_admitted(connection, NAME)
        assert first.revoked_at == aggregator.clock()


def test_opening_keys(aggregator: Aggregator) -> None:
    party, other = aggregator.enrol(2)
    database = aggregator.context.database

    def key(serial: int, public: bytes, client: str = "client-00") -> Signed[OpeningKey]:
        made = OpeningKey(federation=NAME, client=client, serial=serial, suite="x25519", key=public)
        return Signed[OpeningKey].make(party.client.identity_key, made)

    def newest() -> dict[str, tuple[int, bytes]]:
        with database.read() as connection:
            found = clients.read_opening_keys(connection, NAME)
        return {name: (one.message.serial, one.message.key) for name, one in found.items()}

    first = {"client-00": (1, party.first_key.message.key), "client-01": (1, other.first_key.message.key)}
    assert newest() == first
    with database.write() as connection:
        # The first key of a serial stands; the highest serial is the newest, in whatever order they come.
        clients.add_opening_key(connection, key(1, b"\x09" * 32))
        clients.add_opening_key(connection, key(5, b"\x05" * 32))
        clients.add_opening_key(connection, key(3, b"\x03" * 32))
    assert newest() == first | {"client-00": (5, b"\x05" * 32)}
    for stolen in (key(6, b"\x03" * 32), key(2, b"\x05" * 32, "client-01"), key(7, other.first_key.message.key)):
        with pytest.raises(Conflict, match="fresh one"), database.write() as connection:
            clients.add_opening_key(connection, stolen)
    assert newest() == first | {"client-00": (5, b"\x05" * 32)}
    with database.read() as connection:
        assert clients.read_opening_keys(connection, "another") == {}


def test_a_nonce_of_the_epoch_before_is_refused_by_the_database_too(aggregator: Aggregator) -> None:
    """A replica that was cut off while a backup was restored knows the old epoch only, and its nonces are forgotten."""
    party = aggregator.party("bench-1")
    party.enrol()
    (request,) = party.transport.requests
    with aggregator.context.database.write() as connection:
        installation.begin_epoch(connection, "e" * 22, aggregator.clock())
    before = aggregator.dump()
    again = party.transport.again(request)
    assert again.status_code == 401
    assert again.json()["epoch"] == "e" * 22
    assert "restart this aggregator" in again.json()["detail"]
    assert aggregator.dump() == before
    assert before["nonces"] == []


def test_nonces(aggregator: Aggregator) -> None:
    database, now = aggregator.context.database, aggregator.clock()
    with database.write() as connection:
        nonce = installation.read_epoch(connection) + "nonce"
        clients.spend_nonce(connection, "key", nonce, now)
        clients.spend_nonce(connection, "another key", nonce, now)
    with pytest.raises(Unauthenticated, match="used before"), database.write() as connection:
        clients.spend_nonce(connection, "key", nonce, now + timedelta(1))
    with database.write() as connection:
        # By a replica whose clock is an hour ahead, at the last instant at which another one would take its request.
        clients.forget_nonces(connection, now + timedelta(hours=1))
    assert len(aggregator.dump()["nonces"]) == 2
    with database.write() as connection:
        clients.forget_nonces(connection, now + timedelta(hours=1, milliseconds=1))
    assert aggregator.dump()["nonces"] == []


def test_effects_of_some_minutes_count_against_a_key(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nonces are kept for an hour longer, and are no effects of the present then."""
    monkeypatch.setattr(clients, "MOST_NONCES", 2)
    database, now = aggregator.context.database, aggregator.clock()
    with database.write() as connection:
        epoch = installation.read_epoch(connection)
        for number in range(2):
            clients.spend_nonce(connection, "key", f"{epoch}{number}", now)
        with pytest.raises(QuotaExceeded, match="2 effects within 150 s"):
            clients.spend_nonce(connection, "key", f"{epoch}2", now + clients.COUNTED)
        clients.spend_nonce(connection, "key", f"{epoch}3", now + clients.COUNTED + timedelta(milliseconds=1))
