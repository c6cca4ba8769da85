"""Every row of every table, for checks of the whole database; what a later schema adds is among them."""

from typing import Any

from sqlalchemy import Connection, select

from aggregator.storage.tables import metadata

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table, each as column and value, in the order of the primary key."""


def read(connection: Connection) -> tuple[Rows, dict[str, str]]:
    """Every row, and the tables that cannot be read with what is wrong with them.

    SQLite keeps values of any type in any column: one that its column cannot hold makes a table unreadable.
    """
    found: Rows = {}
    unreadable: dict[str, str] = {}
    for table in metadata.sorted_tables:
        found[table.name] = []
        try:
            rows = connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
            found[table.name] = [dict(row) for row in rows]
        except (TypeError, ValueError, AttributeError) as error:
            unreadable[table.name] = str(error)
    return found, unreadable
