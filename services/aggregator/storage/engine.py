"""The database: SQLite beside the process, PostgreSQL by URL, with the same two kinds of transaction.

What differs between the two is in `storage.sqlite` and `storage.postgresql`; a test runs on both.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import URL, Engine
from sqlalchemy import Connection as Connection
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from aggregator.storage import database_file, postgresql, sqlite
from fgpr.errors import Unavailable

SHORTEST_PURGE_WAIT_MS, LONGEST_PURGE_WAIT_MS = 20, 500
"""How long a purge waits for readers: at first, and when earlier ones found them in the way. Writers wait meanwhile."""


class Database:
    """A database and its two kinds of transaction."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._engine = sqlite.engine(url) if self.is_sqlite else postgresql.engine(url)
        # An earlier process may have been killed between an erasure and its purge.
        self._unpurged = True
        self._purge_wait_ms = SHORTEST_PURGE_WAIT_MS
        # SQLite lets one writer in and the others look again after a pause that grows. The threads of this process
        # queue here instead, so that the next one begins when the one before it ends.
        self._writers = threading.Lock()
        self._opened: BinaryIO | None = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one moment.

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
        with self._turn() if self.is_sqlite else nullcontext(), self._begin(writes=True) as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A transaction that may write, beside which no other of this kind runs: replicas start one after the other.

        Raises:
            Unavailable: as for `write`.
        """
        with self.write() as connection:
            if not self.is_sqlite:
                postgresql.wait_alone(connection)
            yield connection

    def note_erasure(self) -> None:
        """Something was erased and committed: the next `purge` has work to do."""
        self._unpurged = True

    def purge(self) -> None:
        """Make erased values unreachable: empty SQLite's write-ahead log, vacuum PostgreSQL's old row versions.

        Never on a request's path: the deadlines call it once a tick. Does nothing where nothing was erased.

        Raises:
            Unavailable: readers were in the way for as long as it may wait; the next call tries again.
        """
        if not self._unpurged:
            return
        # Before the work: what is erased meanwhile is for the next call.
        self._unpurged = False
        done = self._truncate() if self.is_sqlite else self._vacuum()
        wait, self._unpurged = self._purge_wait_ms, self._unpurged or not done
        self._purge_wait_ms = SHORTEST_PURGE_WAIT_MS if done else min(2 * wait, LONGEST_PURGE_WAIT_MS)
        if not done and wait == LONGEST_PURGE_WAIT_MS:
            raise Unavailable(
                "what was erased is still in the database's log or old rows: readers are in the way, or it is away"
            )

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def opened_file(self) -> BinaryIO:
        """SQLite's file, to read it as it is; open until `close`.

        Raises:
            OSError: it cannot be read.
            ValueError: the database is PostgreSQL.
            LocalProtocolError: links of its path lead back to themselves.
        """
        if self.file is None:
            raise ValueError("PostgreSQL has no file here")
        # POSIX gives up all locks of a process on a file, SQLite's too, with the first time that the process closes it.
        if self._opened is None:
            self._opened = self.file.open("rb")
        return self._opened

    @property
    def file(self) -> Path | None:
        """SQLite's file, where links lead to; None on PostgreSQL.

        Raises:
            LocalProtocolError: links lead back to themselves.
        """
        return database_file.behind(Path(self._engine.url.database or "")) if self.is_sqlite else None

    @property
    def shown(self) -> str:
        """Its URL as it may be shown: without a password."""
        url = self._engine.url
        query = {name: value for name, value in url.query.items() if name != "password"}
        shown = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)
        return shown.render_as_string(hide_password=False)

    @property
    def engine(self) -> Engine:
        """For migrations."""
        return self._engine

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writers.acquire(timeout=sqlite.WAIT_MS / 1000):
            raise Unavailable("the database is being written to; try again")
        try:
            yield
        finally:
            self._writers.release()

    def _truncate(self) -> bool:
        if not self._writers.acquire(timeout=self._purge_wait_ms / 1000):
            return False
        try:
            return sqlite.truncate_log(self._engine, self._purge_wait_ms)
        finally:
            self._writers.release()

    def _vacuum(self) -> bool:
        try:
            postgresql.vacuum(self._engine)
        except (DatabaseError, PoolTimeout):
            return False
        return True

    @contextmanager
    def _begin(self, *, writes: bool) -> Iterator[Connection]:
        options: dict[str, Any] = {sqlite.WRITES: writes}
        if not writes and not self.is_sqlite:
            # As on SQLite, a reader sees one moment: PostgreSQL's default would show each statement another one.
            options["isolation_level"] = "REPEATABLE READ"
        try:
            with self._engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise Unavailable(f"the database does not answer: {sqlite.reason(error.orig)}") from error
        except DatabaseError as error:
            # Broken constraints and mistakes of this program have classes of their own, and callers that expect them.
            if type(error) is not DatabaseError and not error.connection_invalidated:
                raise
            raise Unavailable(f"the database is damaged, or is none: {error.orig}") from error
        except PoolTimeout as error:
            raise Unavailable("every connection to the database is in use") from error
