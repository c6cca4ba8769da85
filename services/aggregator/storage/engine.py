"""The database: SQLite beside the process, PostgreSQL by URL.

SQLite loses updates with the driver's defaults; here a writing transaction begins with BEGIN IMMEDIATE, in WAL mode,
synchronous to the disk, and erased values are overwritten, in the write-ahead log too (`Database.purge`). On
PostgreSQL writers lock the row of their federation and the log's head.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection as Connection
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from fgpr.errors import Unavailable

WRITES = "fgpr_writes"
SQLITE_WAIT_MS = 15_000

PURGE_WAIT_MS = 500
"""How long a purge waits for readers before it leaves the rest to the next one."""


class Database:
    """A database and its two kinds of transaction."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _engine(url)
        # An earlier process may have been killed between an erasure and its purge.
        self._unpurged = True

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads.

        Raises:
            Unavailable: the database is locked, damaged or away.
        """
        with self._begin(writes=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that may write; on SQLite it holds the write lock from its start.

        Raises:
            Unavailable: the database is locked, full, damaged or away; nothing was written.
        """
        with self._begin(writes=True) as connection:
            yield connection

    def note_erasure(self) -> None:
        """Something was erased and committed: the next `purge` has work to do."""
        self._unpurged = True

    def purge(self) -> None:
        """Empty SQLite's write-ahead log, in which erased values stand until it is used again from its start.

        Does nothing where nothing was erased, and on PostgreSQL. Where a reader is in the way, the next call tries
        again.
        """
        if not self._unpurged or self._engine.dialect.name != "sqlite":
            return
        # Before the work: what is erased meanwhile is for the next call.
        self._unpurged = False
        self._unpurged = not _truncate_log(self._engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @property
    def engine(self) -> Engine:
        """For migrations."""
        return self._engine

    @contextmanager
    def _begin(self, *, writes: bool) -> Iterator[Connection]:
        options: dict[str, Any] = {WRITES: writes}
        if not writes and self._engine.dialect.name != "sqlite":
            # As on SQLite, a reader sees one moment: PostgreSQL's default would show each statement another one.
            options["isolation_level"] = "REPEATABLE READ"
        try:
            with self._engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise Unavailable(f"the database does not answer: {type(error.orig).__name__}") from error
        except DatabaseError as error:
            # Broken constraints and mistakes of this program have classes of their own, and callers that expect them.
            if type(error) is not DatabaseError:
                raise
            raise Unavailable(f"the database is damaged, or is none: {error.orig}") from error
        except PoolTimeout as error:
            raise Unavailable("every connection to the database is in use") from error


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url, pool_pre_ping=True, hide_parameters=True)
    engine = create_engine(url, pool_size=32, hide_parameters=True)
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


def _truncate_log(engine: Engine) -> bool:
    """Whether the whole log was written back and cut to nothing; the engine's own transactions would be in the way."""
    try:
        pooled = engine.raw_connection()
    except sqlite3.Error:
        return False
    try:
        cursor = pooled.cursor()
        cursor.execute(f"PRAGMA busy_timeout={PURGE_WAIT_MS}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy, *_ = cursor.fetchone() or (1,)
        cursor.execute(f"PRAGMA busy_timeout={SQLITE_WAIT_MS}")
    except sqlite3.Error:
        return False
    finally:
        pooled.close()
    return busy == 0


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
