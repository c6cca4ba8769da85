"""Rows of operators and auditors and of their tickets."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from aggregator.storage.tables import staff, staff_tickets
from fgpr.errors import Conflict
from fgpr.staff import StaffRole


@dataclass(frozen=True)
class StaffTicketRow:
    """A ticket as stored: its secret only as a hash."""

    secret_hash: bytes
    name: str
    role: StaffRole
    expires_at: datetime
    used_by: bytes | None


@dataclass(frozen=True)
class StaffRow:
    """An operator or auditor."""

    name: str
    role: StaffRole
    identity_key: bytes
    key_id: str
    enrolled_at: datetime
    revoked_at: datetime | None


def add_ticket(connection: Connection, ticket: StaffTicketRow) -> None:
    """Write a ticket that nobody took up yet."""
    connection.execute(insert(staff_tickets).values(vars(ticket)))


def read_ticket(connection: Connection, secret_hash: bytes) -> StaffTicketRow | None:
    """The ticket of that hash."""
    row = connection.execute(select(staff_tickets).where(staff_tickets.c.secret_hash == secret_hash)).one_or_none()
    return None if row is None else StaffTicketRow(*row)


def take_ticket(connection: Connection, secret_hash: bytes, key: bytes) -> bool:
    """Let `key` take up a ticket; False where another request was first (compare-and-set)."""
    taken = connection.execute(
        update(staff_tickets)
        .where(staff_tickets.c.secret_hash == secret_hash, staff_tickets.c.used_by.is_(None))
        .values(used_by=key)
    )
    return taken.rowcount == 1


def add(connection: Connection, row: StaffRow) -> None:
    """Write an operator or auditor.

    Raises:
        Conflict: the name or the key is enrolled already.
    """
    try:
        connection.execute(insert(staff).values(**vars(row)))
    except IntegrityError as error:
        raise Conflict(f"{row.name} or its key is enrolled already") from error


def read(connection: Connection, name: str) -> StaffRow | None:
    """The operator or auditor of that name."""
    return _staff(connection, staff.c.name == name)


def read_all(connection: Connection) -> list[StaffRow]:
    """Everybody, revoked ones included, in order of name."""
    return [StaffRow(*row) for row in connection.execute(select(staff).order_by(staff.c.name))]


def read_key_holder(connection: Connection, key_id: str, *, lock: bool = False) -> StaffRow | None:
    """Who holds the key of that id; `lock` keeps a revocation waiting until the transaction ends."""
    return _staff(connection, staff.c.key_id == key_id, lock=lock)


def revoke(connection: Connection, name: str, now: datetime) -> bool:
    """Revoke an operator or auditor; False where that was done before."""
    done = connection.execute(
        update(staff).where(staff.c.name == name, staff.c.revoked_at.is_(None)).values(revoked_at=now)
    )
    return done.rowcount == 1


def replace_key(connection: Connection, row: StaffRow, key: bytes, key_id: str) -> bool:
    """Put another key in place of the one in `row`; False where it was replaced or revoked meanwhile.

    Raises:
        Conflict: somebody holds the new key.
    """
    try:
        done = connection.execute(
            update(staff)
            .where(staff.c.name == row.name, staff.c.key_id == row.key_id, staff.c.revoked_at.is_(None))
            .values(identity_key=key, key_id=key_id)
        )
    except IntegrityError as error:
        raise Conflict(f"{row.name}'s new key is enrolled already: make another") from error
    return done.rowcount == 1


def _staff(connection: Connection, condition: ColumnElement[bool], *, lock: bool = False) -> StaffRow | None:
    query = select(staff).where(condition)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else StaffRow(*row)
