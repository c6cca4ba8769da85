"""The audit log's rows: leaves, complete nodes, and the one head that moves by compare-and-swap."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, and_, bindparam, false, insert, or_, select, update

from aggregator.storage.tables import log_head, log_leaves, log_nodes
from fgpr import merkle
from fgpr.errors import Unavailable, UnknownResource

HEAD = 1

T = TypeVar("T")

# Written down once, as in storage.rounds.
_HEAD = select(log_head.c.size, log_head.c.frontier, log_head.c.note).where(log_head.c.id == HEAD)
_LOCKED_HEAD = _HEAD.with_for_update()
_LEAVES = (
    select(log_leaves.c.leaf)
    .where(log_leaves.c.index >= bindparam("first"), log_leaves.c.index < bindparam("end"))
    .order_by(log_leaves.c.index)
)
_ADD_LEAVES, _ADD_NODES = insert(log_leaves), insert(log_nodes)
_MOVE_HEAD = update(log_head).where(log_head.c.id == HEAD, log_head.c.size == bindparam("before"))
_NODE = select(log_nodes.c.hash).where(log_nodes.c.level == bindparam("row"), log_nodes.c.index == bindparam("place"))


def start(connection: Connection, note: str) -> None:
    """Write the head of the empty log."""
    connection.execute(insert(log_head).values(id=HEAD, size=0, frontier=b"", note=note))


def read_head(connection: Connection, *, lock: bool = False) -> tuple[merkle.Frontier, str]:
    """The log's frontier and its signed checkpoint; `lock` keeps other writers out until the transaction ends.

    Raises:
        UnknownResource: the log was never started.
    """
    row = connection.execute(_LOCKED_HEAD if lock else _HEAD).one_or_none()
    if row is None:
        raise UnknownResource("there is no audit log yet: run `fgpr-aggregator migrate`")
    size = merkle.HASH_BYTES
    hashes = tuple(row.frontier[start : start + size] for start in range(0, len(row.frontier), size))
    return merkle.Frontier(row.size, hashes), row.note


def append(connection: Connection, leaves: Sequence[bytes], sign: Callable[[int, bytes], str]) -> merkle.Frontier:
    """Append leaves and move the head.

    Args:
        connection: a writing transaction, that of the transition which the leaves record.
        leaves: canonical bytes.
        sign: gives the signed checkpoint of a size and root.

    Raises:
        Unavailable: another writer moved the head meanwhile; nothing may be kept of this transaction.
    """
    before, _ = read_head(connection, lock=True)
    frontier, nodes = before, []
    for leaf in leaves:
        frontier, completed = frontier.append(merkle.leaf_hash(leaf))
        nodes += [{"level": level, "index": index, "hash": node} for level, index, node in completed]
    if leaves:
        connection.execute(_ADD_LEAVES, [{"index": before.size + n, "leaf": leaf} for n, leaf in enumerate(leaves)])
        connection.execute(_ADD_NODES, nodes)
    # The size stands in WHERE and not only under a lock: on any database and isolation level two writers that read the
    # same head can never both move it, which would fork the log under a signed checkpoint.
    head = {"size": frontier.size, "frontier": b"".join(frontier.hashes), "note": sign(frontier.size, frontier.root())}
    moved = connection.execute(_MOVE_HEAD, {"before": before.size, **head})
    if moved.rowcount != 1:
        raise Unavailable("the audit log moved meanwhile; try again")
    return frontier


def read_leaves(connection: Connection, start: int, end: int) -> list[bytes]:
    """Leaves `start` up to, not including, `end`."""
    return list(connection.execute(_LEAVES, {"first": start, "end": end}).scalars())


def node_reader(connection: Connection) -> merkle.Node:
    """The complete nodes of the log, as proofs ask for them."""

    def node(level: int, index: int) -> bytes:
        found: bytes | None = connection.execute(_NODE, {"row": level, "place": index}).scalar_one_or_none()
        if found is None:
            raise _missing(level, index)
        return found

    return node


def prove(connection: Connection, make: Callable[[merkle.Node], T]) -> T:
    """What `make` makes of complete nodes, which are read in one query: of a proof there is one a level.

    Args:
        connection: a transaction.
        make: asks for the same nodes each time, whatever they are.

    Raises:
        UnknownResource: the log does not have one of them.
    """
    wanted: list[tuple[int, int]] = []

    def note(level: int, index: int) -> bytes:
        wanted.append((level, index))
        return bytes(merkle.HASH_BYTES)

    make(note)
    places = {f"row_{n}": level for n, (level, _) in enumerate(wanted)}
    places |= {f"place_{n}": index for n, (_, index) in enumerate(wanted)}
    found = {(level, index): value for level, index, value in connection.execute(_nodes(len(wanted)), places)}

    def node(level: int, index: int) -> bytes:
        value: bytes | None = found.get((level, index))
        if value is None:
            raise _missing(level, index)
        return value

    return make(node)


@cache
def _nodes(count: int) -> Select[Any]:
    """The query of so many nodes. SQLite would read the whole table for a list of pairs."""
    return select(log_nodes.c.level, log_nodes.c.index, log_nodes.c.hash).where(
        or_(
            false(),
            *(
                and_(log_nodes.c.level == bindparam(f"row_{n}"), log_nodes.c.index == bindparam(f"place_{n}"))
                for n in range(count)
            ),
        )
    )


def _missing(level: int, index: int) -> UnknownResource:
    return UnknownResource(f"the audit log has no complete node {index} of level {level}")
