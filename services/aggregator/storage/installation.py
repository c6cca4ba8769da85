"""The one row about this database as a whole: its epoch."""

from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from aggregator.storage.tables import installation, nonces, staff_tickets, tickets


def read_epoch(connection: Connection) -> str:
    """The epoch, 22 characters of base64url."""
    epoch: str = connection.execute(select(installation.c.epoch)).scalar_one()
    return epoch


def begin_epoch(connection: Connection, epoch: str, now: datetime) -> None:
    """Begin another epoch: tickets that nobody took up are void, and so is every request signed before."""
    connection.execute(update(installation).values(epoch=epoch))
    for table in (tickets, staff_tickets):
        unused = update(table).where(table.c.used_by.is_(None), table.c.expires_at > now)
        connection.execute(unused.values(expires_at=now))
    # No request of an earlier epoch is taken, so that their nonces are worth nothing.
    connection.execute(delete(nonces))
