"""Databases of tests that name none: SQLite files with this program's schema."""

import tempfile
from functools import cache
from pathlib import Path

from aggregator.storage import migrate
from aggregator.storage.engine import Database


def migrated_sqlite(path: Path) -> str:
    """The URL of a new SQLite file."""
    path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    # Migrating once is enough for a run.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        database = Database(f"sqlite:///{path}")
        migrate.upgrade(database)
        database.purge()
        database.close()
        return path.read_bytes()
