"""Rows of identity keys that gave way to others: recognised for good, accepted for nothing."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from aggregator.storage.tables import retired_keys
from fgpr.errors import Conflict


@dataclass(frozen=True)
class RetiredKey:
    """A key that was replaced.

    Attributes:
        key_id: its id.
        identity_key: the key, 32 bytes.
        federation: its holder's; None for operators and auditors.
        holder: a client's id, an operator's or auditor's name.
        retired_at: when.
        body_digest: SHA-256 of the request that replaced it.
    """

    key_id: str
    identity_key: bytes
    federation: str | None
    holder: str
    retired_at: datetime
    body_digest: bytes


def add(connection: Connection, key: RetiredKey) -> None:
    """Write a key that was replaced.

    Raises:
        Conflict: it was replaced before.
    """
    try:
        connection.execute(insert(retired_keys).values(**vars(key)))
    except IntegrityError as error:
        raise Conflict(f"{key.holder}'s key was replaced already") from error


def read(connection: Connection, key_id: str) -> RetiredKey | None:
    """The replaced key of that id."""
    row = connection.execute(_READ, {"key": key_id}).one_or_none()
    return None if row is None else RetiredKey(*row)


def count(connection: Connection, federation: str | None, holder: str, since: datetime | None = None) -> int:
    """Keys that this holder replaced, at any time or since then."""
    query = select(func.count()).select_from(retired_keys)
    query = query.where(retired_keys.c.federation.is_not_distinct_from(federation), retired_keys.c.holder == holder)
    if since is not None:
        query = query.where(retired_keys.c.retired_at > since)
    return connection.execute(query).scalar_one()


def count_all(connection: Connection, federation: str) -> int:
    """Keys that were replaced in a federation."""
    return connection.execute(_COUNT_ALL, {"name": federation}).scalar_one()


# Written down once, as in storage.rounds.
_READ = select(retired_keys).where(retired_keys.c.key_id == bindparam("key"))
_COUNT_ALL = select(func.count()).select_from(retired_keys).where(retired_keys.c.federation == bindparam("name"))
