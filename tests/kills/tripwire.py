"""Counts the statements and commits of a process, and kills or stops it at exactly one of them."""

import os
import signal
import sqlite3
from typing import Any

from sqlalchemy import Engine, event

WIDTH = 60
WRITES = ("INSERT", "UPDATE", "DELETE")
WRITING = "COMMIT of a change"


class Tripwire:
    """Hooks in one engine. Nothing is counted before `arm`.

    Attributes:
        seen: what was counted since, in order: a statement that is about to be sent, or either side of a commit.
    """

    def __init__(self, engine: Engine) -> None:
        self.seen: list[str] = []
        self._armed, self._at, self._writes, self._signal = False, 0, False, signal.SIGKILL
        event.listen(engine, "before_cursor_execute", self._statement)
        event.listen(engine, "connect", self._connected)
        self._commit = engine.dialect.do_commit
        engine.dialect.do_commit = self._committing  # type: ignore[method-assign]  # the event comes before it only

    def arm(self, at: int, sent: signal.Signals = signal.SIGKILL) -> None:
        """Count from here on, and send this process a signal at number `at`, from 1; at none where that is 0."""
        self.seen, self._armed, self._at, self._signal = [], True, at, sent

    def _hit(self, what: str) -> None:
        if not self._armed:
            return
        self.seen.append(what)
        if len(self.seen) == self._at:
            os.kill(os.getpid(), self._signal)

    def _statement(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self._writes = self._writes or statement.startswith(WRITES)
        self._hit(" ".join(statement.split())[:WIDTH])

    def _committing(self, connection: Any) -> None:
        what, self._writes = WRITING if self._writes else "COMMIT", False
        self._hit(f"before {what}")
        self._commit(connection)
        self._hit(f"after {what}")

    def _connected(self, connection: Any, _record: Any) -> None:
        # The purge works on a bare connection, past the engine's events.
        if isinstance(connection, sqlite3.Connection):
            connection.set_trace_callback(self._traced)

    def _traced(self, statement: str) -> None:
        if "wal_checkpoint" in statement:
            self._hit(statement)
