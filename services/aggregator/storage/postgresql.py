"""PostgreSQL: how each connection is set up, the lock between processes that start, and what an erasure leaves.

Writers lock the row of their federation and the log's head. A writer waits as long as on SQLite, and a process that
was paused inside a transaction loses it, so that the others can go on.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

LOCK_WAIT_MS = 15_000
"""How long a statement waits for another transaction's lock."""

IDLE_MS = 30_000
"""After how long the server ends a transaction whose process sends nothing."""

CONNECTIONS = 20
"""Most connections of one process, beside the one that listens."""

LISTENER_NAME = "fgpr-listener"
"""What a listening connection is called in pg_stat_activity."""

ADVISORY_LOCK = 0x66677072
"""Number of the lock that keeps processes apart that start on one database: "fgpr"."""


def engine(url: str) -> Engine:
    """An engine with those limits."""
    made = create_engine(url, pool_size=CONNECTIONS, max_overflow=0, pool_pre_ping=True, hide_parameters=True)
    event.listen(made, "connect", _configure)
    return made


def check_url(url: str) -> None:
    """Check that a URL can be read, and in one way only: part of a password would be taken for a host, and shown.

    Raises:
        ValueError: it cannot; says what to write, and nothing of the URL.
    """
    try:
        read, parts = make_url(url), urlsplit(url)
        one_way = read.password == (None if parts.password is None else unquote(parts.password))
    except (ArgumentError, ValueError):
        raise ValueError(
            "the database's URL cannot be read: write postgresql://USER@HOST:PORT/NAME, where PORT is a number"
        ) from None
    if not one_way:
        raise ValueError(
            "in a database's URL write @ / ? # of a password as %40 %2F %3F %23, or name a file with the "
            "password (FGPR_DATABASE_PASSWORD_FILE)"
        )


def wait_alone(connection: Connection) -> None:
    """Wait until no other process holds the lock; it is held until the transaction ends."""
    # Starting takes as long as it takes: no limit here.
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})


def vacuum(made: Engine) -> None:
    """Give up the row versions that erasures left behind."""
    with made.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM contributions"))


def others_listen(connection: Connection) -> bool:
    """Whether a process listens to this database, as every aggregator does that serves."""
    found = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = :name"
    )
    return bool(connection.execute(found, {"name": LISTENER_NAME}).scalar_one())


def truncate(connection: Connection, tables: Sequence[str]) -> None:
    """Take every row out of these tables, with the files that held them, when the transaction commits."""
    names = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in tables)
    connection.execute(text(f"TRUNCATE {names}"))


def _configure(connection: "psycopg.Connection[Any]", _record: Any) -> None:
    connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
    connection.commit()
