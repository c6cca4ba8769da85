"""Everywhere a value may stand in a database: in any table, and where SQLite keeps what no table has any more.

A value that was deleted, or whose table was dropped, can lie on in free pages and in the write-ahead log. SQLite's two
files are read as they are. PostgreSQL's lie on another machine: of it the tables are read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from sqlalchemy import Connection, Select, column, inspect, literal_column, select, table, text

from aggregator.storage.engine import Database

PIECE = 2**22
"""Bytes of a file that are in memory at a time."""

OVERLAP = 2**10
"""Bytes of a piece that stand in the next one too: what is sought is at most so long."""

ROWS = 32
"""Rows at a time: a contribution may hold some megabytes."""


@dataclass(frozen=True)
class Place:
    """Part of a database.

    Attributes:
        name: a file, or a table's column.
        pieces: its bytes, to be read once; None where the database's user may not read it.
    """

    name: str
    pieces: Iterable[bytes] | None


def places(database: Database) -> Iterator[Place]:
    """SQLite's write-ahead log and file, or every column of every table of PostgreSQL's schema.

    Raises:
        Unavailable: the database is away.
        OSError: a file cannot be read.
    """
    if database.file is None:
        with database.read() as connection:
            yield from _columns(connection)
        return
    # The log first: what moves meanwhile moves from it into the file.
    log = database.file.with_name(f"{database.file.name}-wal")
    try:
        with log.open("rb") as opened:
            yield Place(log.name, _pieces(opened))
    except FileNotFoundError:
        # Nothing was written since it was emptied.
        pass
    yield Place(database.file.name, _pieces(database.opened_file()))


def as_bytes(value: object) -> bytes:
    """A stored value as bytes that can be searched."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    kept = b""
    while read := file.read(PIECE):
        yield kept + read
        kept = (kept + read)[-OVERLAP:]


def _columns(connection: Connection) -> Iterator[Place]:
    quote = connection.dialect.identifier_preparer.quote
    for name in inspect(connection).get_table_names():
        allowed = text("SELECT has_table_privilege(:name, 'SELECT')")
        if not connection.execute(allowed, {"name": quote(name)}).scalar_one():
            yield Place(name, None)
            continue
        nothing: Select[tuple[Any]] = select(literal_column("*")).select_from(table(name)).limit(0)
        for key in tuple(connection.execute(nothing).keys()):
            yield Place(f"{name}.{key}", _values(connection, name, key))


def _values(connection: Connection, name: str, key: str) -> Iterator[bytes]:
    values: Select[tuple[Any]] = select(column(key)).select_from(table(name))
    rows = connection.execute(values, execution_options={"stream_results": True, "yield_per": ROWS})
    for part in rows.scalars().partitions(ROWS):
        yield b"\0".join(as_bytes(value) for value in part)
