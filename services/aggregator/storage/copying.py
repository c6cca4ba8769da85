"""Every row of one database put into another of the same schema; each may be SQLite or PostgreSQL."""

from sqlalchemy import Connection, Table, delete, insert, select

from aggregator.storage import postgresql, sqlite
from aggregator.storage.engine import Database
from aggregator.storage.tables import metadata
from fgpr.errors import Conflict

IN_USE = "an aggregator works on this database still: stop every one"

ROWS = 32
"""Rows at a time: a contribution may hold some megabytes."""


def copy(source: Database, target: Database) -> None:
    """Replace what `target` holds by what `source` held at one moment, in one transaction.

    Raises:
        Conflict: an aggregator works on `target`.
        Unavailable: one of the two is locked, full, damaged or away; `target` is as it was.
    """
    with source.read() as reading, target.alone() as writing:
        _empty(writing)
        for table in metadata.sorted_tables:
            _copy(table, reading, writing)


def check_alone(database: Database) -> None:
    """Check that no aggregator works on a database, of which this process has no connection open.

    Raises:
        Conflict: one does, and would go on with an epoch and, on SQLite, with a file that are no more.
        Unavailable: the database is away.
        LocalProtocolError: links of its path lead back to themselves.
    """
    if database.file is not None:
        busy = sqlite.others_work(database.file)
    else:
        with database.read() as connection:
            busy = postgresql.others_listen(connection)
    if busy:
        raise Conflict(IN_USE)


def _empty(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
        return
    if postgresql.others_listen(connection):
        raise Conflict(IN_USE)
    postgresql.truncate(connection, [table.name for table in metadata.sorted_tables])


def _copy(table: Table, reading: Connection, writing: Connection) -> None:
    rows = reading.execute(select(table), execution_options={"stream_results": True, "yield_per": ROWS})
    for part in rows.mappings().partitions(ROWS):
        writing.execute(insert(table), [dict(row) for row in part])
