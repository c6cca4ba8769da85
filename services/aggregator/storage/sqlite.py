"""SQLite: how each connection is set up, how transactions begin, and how the write-ahead log is emptied.

With the driver's defaults SQLite loses updates. Here a writing transaction begins with BEGIN IMMEDIATE, in WAL mode,
synchronous to the disk, and erased values are overwritten.
"""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event

WRITES = "fgpr_writes"
"""Execution option: whether the transaction that begins may write."""

WAIT_MS = 15_000
"""How long a writer waits for another process's transaction."""

IN_USE_MS = 1_000
"""How long somebody may hold a database that nobody works on: a command that ends, say."""

BROKEN = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
"""Primary result codes after which a connection is not used again."""

LOOK_AGAIN_SECONDS = 0.02
"""Between two attempts to change a new file to WAL."""


def engine(url: str) -> Engine:
    """An engine whose transactions begin as `WRITES` says."""
    made = create_engine(url, pool_size=32, hide_parameters=True)
    event.listen(made, "connect", _configure)
    event.listen(made, "begin", _begin)
    event.listen(made, "handle_error", _renew)
    return made


def truncate_log(made: Engine, wait_ms: int) -> bool:
    """Write the whole write-ahead log back and cut it to nothing; whether that was done.

    While it waits for readers no writer begins, so what takes long is done before, beside readers and writers.
    """
    try:
        # A connection without a transaction: one of the engine's own would be in the way.
        pooled = made.raw_connection()
    except sqlite3.Error:
        return False
    try:
        cursor = pooled.cursor()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={wait_ms:d}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy, *_ = cursor.fetchone() or (1,)
        cursor.execute(f"PRAGMA busy_timeout={WAIT_MS}")
    except sqlite3.Error:
        return False
    finally:
        pooled.close()
    return busy == 0


def reason(error: BaseException | None) -> str:
    """What is wrong with the database, in words without a path or a value of it."""
    code, name = getattr(error, "sqlite_errorcode", 0) & 0xFF, getattr(error, "sqlite_errorname", "")
    if code == sqlite3.SQLITE_FULL:
        return "its disk is full: make room"
    if code == sqlite3.SQLITE_IOERR:
        return f"its disk is full or fails ({name}): make room, or look at the disk"
    return type(error).__name__


def others_work(file: Path) -> bool:
    """Whether anybody has this database open: in WAL mode each connection shares a lock on it for as long as it lasts.

    A file that is missing, damaged or none of SQLite's is nobody's.
    """
    try:
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.Error:
        return False
    try:
        connection.execute(f"PRAGMA busy_timeout={IN_USE_MS}")
        # Only in this mode an exclusive transaction on a database with a write-ahead log keeps readers out, too.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    finally:
        connection.close()
    return False


def _configure(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver must not begin transactions by itself: it would begin them deferred.
    connection.isolation_level = None
    for pragma in (f"busy_timeout={WAIT_MS}", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")
    _keep_log(connection)


def _keep_log(connection: sqlite3.Connection) -> None:
    # A new file changes to WAL under every lock at once. Where others do the same, SQLite gives up without waiting.
    end = time.monotonic() + WAIT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(LOOK_AGAIN_SECONDS)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _renew(context: ExceptionContext) -> None:
    # A file that the disk would not open for writing once is opened for reading, for as long as the connection lasts.
    error = context.original_exception
    if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in BROKEN:
        context.is_disconnect = True
