"""The audit log from the service's side: leaves go in with the transition that they record; proofs come out."""

from collections.abc import Iterator, Sequence
from functools import partial

from aggregator.service.context import Context
from aggregator.storage import federations, log
from aggregator.storage.engine import Connection
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.auditlog.entries import Leaf
from fgpr.errors import CryptographicError, EncodingError, UnknownResource
from fgpr.message import Digest
from fgpr.rest import CheckpointView, LogEntries, LogProof
from fgpr.secagg.messages import LogPosition

MOST_ENTRIES = 1_000
"""Most leaves in one answer."""

MOST_BYTES = 4 * 2**20
"""Most bytes of leaves in one answer, but for its first leaf: anybody may ask, and agents take 64 MiB at most."""

READ_AT_ONCE = 50
"""Leaves of one query: those beyond `MOST_BYTES` are read for nothing."""


def start(context: Context, connection: Connection) -> None:
    """Sign the checkpoint of the empty log."""
    log.start(connection, _sign(context, 0, merkle.EMPTY_ROOT))


def record(context: Context, connection: Connection, leaves: Sequence[Leaf]) -> int:
    """Append leaves in the caller's transaction; the index of the first one."""
    frontier = log.append(connection, [leaf.encode() for leaf in leaves], lambda size, root: _sign(context, size, root))
    return frontier.size - len(leaves)


def check_signer(context: Context, connection: Connection) -> None:
    """Check that the log is signed by the service key of this process: another one would split it under two names.

    Raises:
        CryptographicError: it is not, or that key cannot be read.
        UnknownResource: the log was never started.
    """
    # A note begins with the name of its log, and that with whose key signs it.
    signer, _, _ = log.read_head(connection)[1].partition("\n")
    if signer != log_name(context):
        raise CryptographicError(
            f"the audit log of this database is {signer}, and the service key here signs {log_name(context)}: name the "
            "folder of the keys that belong to this database (--keys or FGPR_KEYS), or put them back"
        )


def position(connection: Connection) -> LogPosition:
    """The newest checkpoint as (size, root)."""
    frontier, _ = log.read_head(connection)
    return LogPosition(size=frontier.size, root=frontier.root())


def is_public(connection: Connection) -> bool:
    """Whether anybody may read the log."""
    return federations.log_is_public(connection)


def newest(context: Context, connection: Connection) -> CheckpointView:
    """The newest signed checkpoint."""
    return CheckpointView(note=log.read_head(connection)[1], service_key=context.service_public())


def entries(connection: Connection, start_index: int, end: int) -> tuple[LogEntries, bool]:
    """Leaves from `start_index` up to `end`, or fewer, at most MOST_ENTRIES and MOST_BYTES.

    Returns:
        The leaves, and whether this question will get them always: not where the log is too short yet.

    Raises:
        EncodingError: `end` is before `start_index`.
        UnknownResource: the log is shorter than `start_index`.
    """
    if end < start_index:
        raise EncodingError(
            f"end is {end} and start is {start_index}: leaves go from start up to, not including, end, so end has to "
            "be start or above"
        )
    size = log.read_head(connection)[0].size
    if start_index > size:
        raise UnknownResource(f"the audit log has {size} leaves, none from {start_index} on")
    last = min(end, size, start_index + MOST_ENTRIES)
    frontier = log.prove(connection, partial(merkle.frontier, start_index))
    leaves = tuple(_within_bytes(connection, start_index, last))
    page = LogEntries(start=start_index, end=start_index + len(leaves), frontier=frontier.hashes, leaves=leaves)
    return page, page.end >= end or page.end < size


def _within_bytes(connection: Connection, start_index: int, end: int) -> Iterator[bytes]:
    total = 0
    for first in range(start_index, end, READ_AT_ONCE):
        for one in log.read_leaves(connection, first, min(end, first + READ_AT_ONCE)):
            total += len(one)
            if total > MOST_BYTES and total != len(one):
                return
            yield one


def inclusion(connection: Connection, index: int, size: int) -> LogProof:
    """Proof that leaf `index` is in the tree of the first `size` leaves.

    Raises:
        UnknownResource: there is no such leaf or tree.
    """
    _check_size(connection, size)
    if index >= size:
        raise UnknownResource(f"a tree of {size} leaves has no leaf {index}")
    return LogProof(hashes=log.prove(connection, partial(merkle.inclusion_proof, index, size)))


def consistency(connection: Connection, old: int, new: int) -> LogProof:
    """Proof that the tree of `new` leaves begins with that of `old` leaves.

    Raises:
        UnknownResource: there are no such trees.
    """
    _check_size(connection, new)
    if old > new:
        raise UnknownResource(f"the tree of {new} leaves cannot begin with {old} leaves")
    return LogProof(hashes=log.prove(connection, partial(merkle.consistency_proof, old, new)))


def log_name(context: Context) -> str:
    """The log's name in its checkpoints."""
    return checkpoint.name_of(context.service_public())


def _sign(context: Context, size: int, root: Digest) -> str:
    name = log_name(context)
    return checkpoint.sign(Checkpoint(origin=name, size=size, root=root), name, context.keys.service())


def _check_size(connection: Connection, size: int) -> None:
    newest_size = log.read_head(connection)[0].size
    if size > newest_size:
        raise UnknownResource(f"the audit log has {newest_size} leaves, not {size}")


def leaf(connection: Connection, index: int) -> bytes:
    """One leaf.

    Raises:
        UnknownResource: the log is shorter.
    """
    found = log.read_leaves(connection, index, index + 1)
    if not found:
        raise UnknownResource(f"the audit log has no leaf {index}")
    return found[0]
