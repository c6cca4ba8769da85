"""New databases with this program's schema, one for each example."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from support.databases import migrated_sqlite
from support.postgres import Postgres

NewDatabase = Callable[[Path], AbstractContextManager[str]]


@contextmanager
def on_sqlite(folder: Path) -> Iterator[str]:
    """The URL of a file."""
    yield migrated_sqlite(folder / "fgpr.db")


def on_postgresql(server: Postgres) -> NewDatabase:
    """Databases of a running server."""
    return lambda _: server.database()
