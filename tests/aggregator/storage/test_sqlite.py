"""SQLite connections that a fault of the disk has spoilt."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from aggregator.storage.engine import Database
from fgpr.errors import Unavailable
from support.databases import migrated_sqlite


def test_a_file_that_was_once_opened_for_reading_only_is_opened_anew(tmp_path: Path) -> None:
    # What SQLite itself falls back to where open() for writing fails, for the life of the connection.
    database = Database(migrated_sqlite(tmp_path / "fgpr.db"))
    spoilt = [f"file:{tmp_path / 'fgpr.db'}?mode=ro"]

    def connect(_dialect: Any, _record: Any, _arguments: Any, _options: Any) -> sqlite3.Connection | None:
        return sqlite3.connect(spoilt.pop(), uri=True, check_same_thread=False) if spoilt else None

    event.listen(database.engine, "do_connect", connect)

    def write() -> None:
        with database.write() as connection:
            connection.execute(text("DELETE FROM nonces"))

    with pytest.raises(Unavailable):
        write()
    assert not spoilt
    write()
    database.close()


def test_a_connection_that_met_a_full_disk_or_a_lock_is_kept(tmp_path: Path) -> None:
    database = Database(migrated_sqlite(tmp_path / "fgpr.db"))
    with database.read() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1")
    for _ in range(2):
        with pytest.raises(Unavailable), database.write() as connection:
            connection.exec_driver_sql("INSERT INTO nonces VALUES ('a', ?, '2031-03-09')", ("x" * 10_000,))
    database.close()
