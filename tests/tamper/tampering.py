"""Every way to tamper with a log that an administrator, a backup or the operator with the real key has."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from aggregator.service import audit
from aggregator.storage.tables import log_head, log_leaves, log_nodes
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.auditlog.entries import StateChanged
from tamper.site import Site, restore

FAR = 1_000_000
"""Added to a key, so that no other row has it."""


@dataclass(frozen=True)
class Tampering:
    """One of them.

    Attributes:
        kind: the line of the table that it counts in.
        what: it does, for people.
        apply: does it, in a transaction that is rolled back.
    """

    kind: str
    what: str
    apply: Callable[[Connection], object]


def every(site: Site) -> Iterator[Tampering]:
    """All of them."""
    with site.aggregator.context.database.read() as connection:
        tables = {
            table: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in (log_leaves, log_nodes, log_head)
        }
    for table, rows in tables.items():
        yield from _changed(table, rows)
        yield from _deleted(table, rows)
    yield from _frontier_changed(site)
    leaves = [row["leaf"] for row in sorted(tables[log_leaves], key=lambda row: int(row["index"]))]
    yield from _truncated(site, leaves)
    yield from _rebuilt(site, leaves)
    for number, rows in enumerate(site.backups):
        told = f"the backup from before round {number + 1}"
        yield Tampering("old backup restored", told, lambda connection, rows=rows: restore(connection, rows))  # type: ignore[misc]


def _frontier_changed(site: Site) -> Iterator[Tampering]:
    """Only appending reads the frontier: the aggregator appends one more leaf to what it finds there."""

    def apply(connection: Connection) -> None:
        value = connection.execute(select(log_head.c.frontier)).scalar_one()
        wrong = other(value, random.Random(1), key=False)
        connection.execute(update(log_head).values(frontier=wrong))
        leaf = StateChanged(federation="engines", state="paused", reason="after the change")
        audit.record(site.aggregator.context, connection, [leaf])

    yield Tampering("log_head.frontier changed, one entry more", "the frontier", apply)


def _changed(table: Table, rows: Sequence[dict[str, Any]]) -> Iterator[Tampering]:
    for column in table.columns:
        if column is log_head.c.frontier:
            continue
        for row in rows:
            rng = random.Random(f"{table.name} {column.name} {row}")
            new = other(row[column.name], rng, key=column.primary_key)
            yield Tampering(
                f"{table.name}.{column.name} changed",
                f"{column.name} of {_named(table, row)}",
                lambda connection, row=row, column=column, new=new: connection.execute(  # type: ignore[misc]
                    update(table).where(*_same(table, row)).values({column.name: new})
                ),
            )


def other(value: Any, rng: random.Random, *, key: bool) -> Any:
    """Another value of the same kind: one bit, digit or character changed."""
    if isinstance(value, int):
        return value + FAR if key else value + rng.choice((-1, 1))
    if isinstance(value, bytes):
        place = rng.randrange(len(value))
        return value[:place] + bytes([value[place] ^ (1 << rng.randrange(8))]) + value[place + 1 :]
    place = rng.randrange(len(value))
    return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]


def _deleted(table: Table, rows: Sequence[dict[str, Any]]) -> Iterator[Tampering]:
    for row in rows:
        yield Tampering(
            f"{table.name} row deleted",
            _named(table, row),
            lambda connection, row=row: connection.execute(delete(table).where(*_same(table, row))),  # type: ignore[misc]
        )


def _truncated(site: Site, leaves: Sequence[bytes]) -> Iterator[Tampering]:
    for size in range(len(leaves)):
        yield Tampering(
            "cut short, rows only",
            f"the first {size} leaves",
            lambda connection, size=size: connection.execute(delete(log_leaves).where(log_leaves.c.index >= size)),  # type: ignore[misc]
        )
        yield Tampering(
            "cut short and signed again with the real key",
            f"the first {size} leaves",
            lambda connection, size=size: relog(site, connection, leaves[:size]),  # type: ignore[misc]
        )


def _rebuilt(site: Site, leaves: Sequence[bytes]) -> Iterator[Tampering]:
    """One leaf is another one or none, and everything after it is built anew and signed as if it had always been so."""
    for place, leaf in enumerate(leaves):
        false = StateChanged(federation="engines", state="resumed", reason=f"never said, {place}").encode()
        for what, history in (
            ("another leaf", [*leaves[:place], false, *leaves[place + 1 :]]),
            ("a leaf less", [*leaves[:place], *leaves[place + 1 :]]),
            ("a leaf more", [*leaves[:place], false, *leaves[place:]]),
            ("two leaves swapped", [*leaves[:place], *leaves[place + 1 : place + 2], leaf, *leaves[place + 2 :]]),
        ):
            if history != list(leaves):
                yield Tampering(
                    "rebuilt whole with the real key",
                    f"{what} at {place}",
                    lambda connection, history=history: relog(site, connection, history),  # type: ignore[misc]
                )


def relog(site: Site, connection: Connection, leaves: Sequence[bytes]) -> None:
    """Write another log, its head signed by the aggregator's own key."""
    context, frontier = site.aggregator.context, merkle.Frontier.empty()
    nodes: list[dict[str, Any]] = []
    for leaf in leaves:
        frontier, completed = frontier.append(merkle.leaf_hash(leaf))
        nodes += [{"level": level, "index": index, "hash": value} for level, index, value in completed]
    for table in (log_leaves, log_nodes):
        connection.execute(table.delete())
    if leaves:
        connection.execute(insert(log_leaves), [{"index": at, "leaf": leaf} for at, leaf in enumerate(leaves)])
        connection.execute(insert(log_nodes), nodes)
    name = checkpoint.name_of(context.service_public())
    note = checkpoint.sign(Checkpoint(name, frontier.size, frontier.root()), name, context.keys.service())
    values = {"size": frontier.size, "frontier": b"".join(frontier.hashes), "note": note}
    connection.execute(update(log_head).values(values))


def _same(table: Table, row: dict[str, Any]) -> list[Any]:
    return [column == row[column.name] for column in table.primary_key]


def _named(table: Table, row: dict[str, Any]) -> str:
    return f"{table.name} {', '.join(str(row[column.name]) for column in table.primary_key)}"
