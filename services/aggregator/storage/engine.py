"""The database: SQLite beside the process, PostgreSQL by URL.

SQLite loses updates with the driver's defaults; here a writing transaction begins with BEGIN IMMEDIATE, in WAL mode,
synchronous to the disk, and erased values are overwritten. On PostgreSQL writers lock the row of their federation and
the log's head.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection as Connection
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from fgpr.errors import Unavailable

WRITES = "fgpr_writes"
SQLITE_WAIT_MS = 15_000


class Database:
    """A database and its two kinds of transaction."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _engine(url)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._begin(writes=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that may write; on SQLite it holds the write lock from its start.

        Raises:
            Unavailable: the database is locked, full or away; nothing was written.
        """
        with self._begin(writes=True) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @property
    def engine(self) -> Engine:
        """For migrations."""
        return self._engine

    @contextmanager
    def _begin(self, *, writes: bool) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(**{WRITES: writes}) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise Unavailable(f"the database does not answer: {type(error.orig).__name__}") from error


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, poolclass=NullPool) if ":memory:" in url else create_engine(url, pool_size=32)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver must not begin transactions by itself: it would begin them deferred.
    connection.isolation_level = None
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        f"busy_timeout={SQLITE_WAIT_MS}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
