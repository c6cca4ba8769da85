"""Rows of tickets, clients, their opening keys, and the nonces of their requests."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aggregator.storage.announcements import announce
from aggregator.storage.tables import clients, installation, nonces, opening_keys, tickets
from fgpr.errors import Conflict, QuotaExceeded, Unauthenticated
from fgpr.message import Signed
from fgpr.secagg.messages import OpeningKey

MOST_NONCES = 1_000
"""Most requests with an effect by one key within COUNTED. A round needs five."""

COUNTED = timedelta(seconds=150)
"""As long as a signature holds, by a clock that is as far ahead as may be."""

CLOCK_MARGIN = timedelta(hours=1)
"""How far ahead a replica's clock may be and not forget nonces that another one would still need."""


@dataclass(frozen=True)
class TicketRow:
    """A ticket as stored: its secret only as a hash."""

    secret_hash: bytes
    federation: str
    client: str
    role: str
    expires_at: datetime
    used_by: bytes | None
    issued_by: str | None = None
    issued_at: datetime | None = None


@dataclass(frozen=True)
class ClientRow:
    """An enrolled party.

    Attributes:
        declared: the weight that it declared, `Signed[DeclaredWeight]` as stored.
    """

    federation: str
    client: str
    role: str
    identity_key: bytes
    revoked_at: datetime | None
    receipt: bytes
    declared: bytes | None = None


def add_ticket(connection: Connection, ticket: TicketRow) -> None:
    """Write a ticket that nobody took up yet."""
    connection.execute(insert(tickets).values(vars(ticket)))


def read_ticket(connection: Connection, secret_hash: bytes, *, lock: bool = False) -> TicketRow | None:
    """The ticket of that hash; `lock` keeps others from taking it up until the transaction ends."""
    query = select(tickets).where(tickets.c.secret_hash == secret_hash)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else TicketRow(*row)


def count_issued(connection: Connection, issuer: str, since: datetime) -> int:
    """Tickets that this operator issued since then."""
    query = select(func.count()).select_from(tickets).where(tickets.c.issued_by == issuer, tickets.c.issued_at > since)
    return connection.execute(query).scalar_one()


def take_ticket(connection: Connection, secret_hash: bytes, key: bytes) -> bool:
    """Let `key` take up a ticket; False where another request was first (compare-and-set)."""
    taken = connection.execute(
        update(tickets).where(tickets.c.secret_hash == secret_hash, tickets.c.used_by.is_(None)).values(used_by=key)
    )
    return taken.rowcount == 1


def add_client(connection: Connection, row: ClientRow, key_id: str, now: datetime) -> None:
    """Write an enrolled party.

    Raises:
        Conflict: its id or its key is enrolled already.
    """
    try:
        connection.execute(insert(clients).values(**vars(row), key_id=key_id, enrolled_at=now))
    except IntegrityError as error:
        raise Conflict(f"{row.client} or its key is enrolled already") from error


def read_client(connection: Connection, federation: str, client: str) -> ClientRow | None:
    """The party of that id."""
    return _client(connection, (clients.c.federation == federation) & (clients.c.client == client))


def read_key_holder(connection: Connection, key_id: str) -> ClientRow | None:
    """The party that holds the key of that id."""
    row = connection.execute(_KEY_HOLDER, {"key": key_id}).one_or_none()
    return None if row is None else ClientRow(*row)


def read_key_holders(connection: Connection, key_ids: Iterable[str]) -> dict[str, ClientRow]:
    """The parties that hold the keys of these ids, by id of the key; in one query."""
    rows = connection.execute(_KEY_HOLDERS, {"keys": list(key_ids)})
    return {row.key_id: ClientRow(*row[:-1]) for row in rows}


def replace_key(connection: Connection, row: ClientRow, key: bytes, key_id: str, declared: bytes | None) -> bool:
    """Put another key in place of the one in `row`; False where it was replaced or revoked meanwhile.

    `declared` is the weight that it declared, signed by the new key.

    Raises:
        Conflict: somebody holds the new key.
    """
    try:
        done = connection.execute(
            update(clients)
            .where(
                clients.c.federation == row.federation,
                clients.c.client == row.client,
                clients.c.identity_key == row.identity_key,
                clients.c.revoked_at.is_(None),
            )
            .values(identity_key=key, key_id=key_id, declared=declared)
        )
    except IntegrityError as error:
        raise Conflict(f"{row.client}'s new key is enrolled already: make another") from error
    return done.rowcount == 1


def read_all(connection: Connection, federation: str) -> list[tuple[ClientRow, datetime]]:
    """Every party, readers and revoked ones included, and when it enrolled, in order of id."""
    query = select(*_COLUMNS, clients.c.enrolled_at).where(clients.c.federation == federation)
    return [(ClientRow(*row[:-1]), row[-1]) for row in connection.execute(query.order_by(clients.c.client))]


def read_admitted(connection: Connection, federation: str) -> list[ClientRow]:
    """Every party that stands in rosters, revoked ones included, in order of id."""
    query = select(*_COLUMNS).where(clients.c.federation == federation, clients.c.role == "client")
    return [ClientRow(*row) for row in connection.execute(query.order_by(clients.c.client))]


def read_revoked(connection: Connection, federation: str) -> set[str]:
    """Ids of the parties that are revoked."""
    return set(connection.execute(_REVOKED, {"name": federation}).scalars())


def count_revoked(connection: Connection, federation: str) -> int:
    """How many parties are revoked."""
    return connection.execute(_COUNT_REVOKED, {"name": federation}).scalar_one()


def revoke(connection: Connection, federation: str, client: str, now: datetime) -> bool:
    """Revoke a party; False where it was revoked before."""
    done = connection.execute(
        update(clients)
        .where(clients.c.federation == federation, clients.c.client == client, clients.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    if done.rowcount == 1:
        announce(connection, federation)
    return done.rowcount == 1


def add_opening_key(connection: Connection, key: Signed[OpeningKey]) -> bool:
    """Write an opening key; False where that serial is known: the first one of a serial stands.

    Raises:
        Conflict: the same key was used before. Standing in two seats it would make every client refuse the plan.
    """
    message = key.message
    named = {"name": message.federation, "client_id": message.client, "number": message.serial}
    if connection.execute(_KNOWN_SERIAL, named).scalar_one() != 0:
        return False
    values = {
        "federation": message.federation,
        "client": message.client,
        "serial": message.serial,
        "public_key": message.key,
        "document": key.encode(),
    }
    try:
        connection.execute(_ADD_OPENING_KEY, values)
    except IntegrityError as error:
        raise Conflict(f"{message.client}'s opening key was used before: make a fresh one") from error
    return True


def read_opening_keys(connection: Connection, federation: str) -> dict[str, Signed[OpeningKey]]:
    """The newest opening key of each client."""
    newest = (
        select(opening_keys.c.client, func.max(opening_keys.c.serial).label("serial"))
        .where(opening_keys.c.federation == federation)
        .group_by(opening_keys.c.client)
        .subquery()
    )
    query = (
        select(opening_keys.c.client, opening_keys.c.document)
        .join(newest, (newest.c.client == opening_keys.c.client) & (newest.c.serial == opening_keys.c.serial))
        .where(opening_keys.c.federation == federation)
    )
    return {row.client: Signed[OpeningKey].decode(row.document) for row in connection.execute(query)}


def count_opening_keys(connection: Connection, federation: str, client: str) -> int:
    """Opening keys of a client, past ones included."""
    query = (
        select(func.count())
        .select_from(opening_keys)
        .where(opening_keys.c.federation == federation, opening_keys.c.client == client)
    )
    return connection.execute(query).scalar_one()


def spend_nonce(connection: Connection, key_id: str, nonce: str, expires_at: datetime) -> None:
    """Spend a nonce, in the transaction of its one effect.

    A process learns the epoch when it starts. One that was cut off while a backup was restored has the old one still,
    whose nonces are forgotten: so the database has the last word.

    Raises:
        Unauthenticated: it was spent before, and the request is a replay; or it is of an earlier epoch.
        QuotaExceeded: this key spent MOST_NONCES within COUNTED.
    """
    since = expires_at - COUNTED
    kept, epoch = connection.execute(_KEPT_AND_EPOCH, {"key": key_id, "since": since}).one()
    if not nonce.startswith(epoch):
        raise Unauthenticated(
            "a backup was restored since this process started, and requests of the epoch before are worth nothing: "
            "restart this aggregator, and sign again with the epoch in this answer",
            epoch=epoch,
        )
    if kept >= MOST_NONCES:
        raise QuotaExceeded(
            f"this key had {kept} effects within {COUNTED.seconds} s, the most that one may have: wait",
            limit=MOST_NONCES,
        )
    try:
        connection.execute(_SPEND, {"key_id": key_id, "nonce": nonce, "expires_at": expires_at})
    except IntegrityError as error:
        raise Unauthenticated("this signed request was used before; sign it again with a fresh nonce") from error


def forget_nonces(connection: Connection, before: datetime) -> None:
    """Remove nonces whose requests are too old to be accepted anyway, by any replica's clock.

    Args:
        connection: a writing transaction.
        before: the present time by the clock of this replica, which may run fast or have jumped.
    """
    connection.execute(_FORGET, {"before": before - CLOCK_MARGIN})


_COLUMNS = (
    clients.c.federation,
    clients.c.client,
    clients.c.role,
    clients.c.identity_key,
    clients.c.revoked_at,
    clients.c.receipt,
    clients.c.declared,
)

# Written down once, as in storage.rounds.
_KEY_HOLDER = select(*_COLUMNS).where(clients.c.key_id == bindparam("key"))
_KEY_HOLDERS = select(*_COLUMNS, clients.c.key_id).where(clients.c.key_id.in_(bindparam("keys", expanding=True)))
_REVOKED = select(clients.c.client).where(clients.c.federation == bindparam("name"), clients.c.revoked_at.is_not(None))
_COUNT_REVOKED = _REVOKED.with_only_columns(func.count())
_KEPT_AND_EPOCH = select(
    select(func.count())
    .select_from(nonces)
    .where(nonces.c.key_id == bindparam("key"), nonces.c.expires_at >= bindparam("since"))
    .scalar_subquery(),
    select(installation.c.epoch).scalar_subquery(),
)
_SPEND = insert(nonces)
_FORGET = delete(nonces).where(nonces.c.expires_at < bindparam("before"))
_ADD_OPENING_KEY = insert(opening_keys)
_KNOWN_SERIAL = select(func.count()).where(
    opening_keys.c.federation == bindparam("name"),
    opening_keys.c.client == bindparam("client_id"),
    opening_keys.c.serial == bindparam("number"),
)


def _client(connection: Connection, condition: ColumnElement[bool]) -> ClientRow | None:
    row = connection.execute(select(*_COLUMNS).where(condition)).one_or_none()
    return None if row is None else ClientRow(*row)
