"""Whether the database takes writes."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert

from aggregator.storage.tables import nonces

KEY_ID = "readyz"
"""Key id of the nonce that is written and removed; no key has an id of six letters."""


def write_and_remove(connection: Connection, mark: str, now: datetime) -> None:
    """Write a row and remove it: each probe has a row of its own, so that none waits for another.

    Args:
        connection: a writing transaction.
        mark: fresh.
        now: when the row would be of no use anyway.
    """
    connection.execute(insert(nonces).values(key_id=KEY_ID, nonce=mark, expires_at=now))
    connection.execute(delete(nonces).where(nonces.c.key_id == KEY_ID, nonces.c.nonce == mark))
