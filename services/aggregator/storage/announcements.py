"""Changes of rounds told from one process to the others, by LISTEN and NOTIFY on PostgreSQL.

An announcement is part of the transaction that makes the change: it is sent when that commits, and never where it does
not. It carries nothing but the federation's name. On SQLite nobody is told: other processes on the file look.
"""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import Connection, make_url, text

from aggregator.storage.postgresql import LISTENER_NAME

CHANNEL = "fgpr_rounds"

QUIET_SECONDS = 0.25
"""How long a listener sleeps at most before it looks whether it has to stop."""

PROBE_EVERY = 40
"""After so many quiet spells the connection is tried: one that was cut without a word looks quiet too."""

RETRY_SECONDS = 1.0
"""Pause before a lost connection is made again."""


def announce(connection: Connection, federation: str) -> None:
    """Tell the listeners of every process, when this transaction commits."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_notify(:channel, :federation)"), {"channel": CHANNEL, "federation": federation}
        )


class Listener:
    """A thread with the one connection of this process that listens; does nothing on SQLite.

    Args:
        url: the database.
        heard: called at each announcement, and after a gap in which some may have been missed.
        listening: told whether announcements arrive now.
    """

    def __init__(self, url: str, heard: Callable[[], None], listening: Callable[[bool], None]) -> None:
        self._url = make_url(url)
        self._heard = heard
        self._listening = listening
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        if self._url.get_backend_name() == "postgresql":
            self._thread.start()

    def stop(self) -> None:
        """Stop, and close the connection."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    self._listening(True)
                    self._heard()
                    self._hear(connection)
            except psycopg.Error:
                # Whatever the database says about it elsewhere: here only the next attempt counts.
                pass
            finally:
                self._listening(False)
            self._stop.wait(RETRY_SECONDS)

    def _hear(self, connection: "psycopg.Connection[Any]") -> None:
        quiet = 0
        while not self._stop.is_set():
            heard = False
            for _ in connection.notifies(timeout=QUIET_SECONDS, stop_after=1):
                heard = True
                self._heard()
            quiet = 0 if heard else quiet + 1
            if quiet == PROBE_EVERY:
                quiet = 0
                connection.execute("SELECT 1")

    def _connect(self) -> "psycopg.Connection[Any]":
        url = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(url, autocommit=True, application_name=LISTENER_NAME, connect_timeout=10)
