"""Two who look: whoever reads the log from outside, and `fgpr-aggregator doctor` with the database before it."""

from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from aggregator.service import inspection
from aggregator.service.inspection import Anchors
from aggregator.storage import log
from aggregator.storage.tables import log_nodes
from fgpr import merkle
from fgpr.auditlog.bundle import Bundle, open_position, verify_bundle
from fgpr.errors import FgprError, VerificationError
from fgpr.secagg.messages import LogPosition

WRONG = (FgprError, TypeError, ValueError, LookupError, AttributeError, SQLAlchemyError)
"""What either may stumble over: SQLite keeps values of any kind in any column; an aggregator then gives no answer."""


def position_of(anchors: Anchors) -> LogPosition:
    """The checkpoint that is held, its signature checked."""
    return open_position(anchors.note, anchors.service_key)


def outsider_finds(connection: Connection, anchors: Anchors) -> bool:
    """Whether somebody finds anything who only reads what the log's REST routes give, and holds one checkpoint.

    Read are the newest checkpoint, every leaf, the frontier before each, every inclusion proof and every consistency
    proof to the newest tree.
    """
    try:
        frontier, note = log.read_head(connection)
        leaves = tuple(log.read_leaves(connection, 0, frontier.size))
        _check_proofs(connection, leaves)
        verify_bundle(Bundle(anchors.service_key, (note,), leaves), [position_of(anchors)])
    except WRONG:
        return True
    return False


def doctor_finds(connection: Connection, anchors: Anchors) -> bool:
    """Whether the doctor finds anything, with the whole database and the same checkpoint."""
    try:
        inspection.verify_connection(connection, anchors)
    except WRONG:
        return True
    return False


def _check_proofs(connection: Connection, leaves: tuple[bytes, ...]) -> None:
    # Read at once: thousands of proofs are asked for.
    stored = {(row.level, row.index): row.hash for row in connection.execute(select(log_nodes))}

    def node(level: int, index: int) -> bytes:
        return bytes(stored[level, index])

    growing, size = merkle.Frontier.empty(), len(leaves)
    root = merkle.root([merkle.leaf_hash(leaf) for leaf in leaves])
    for index, leaf in enumerate(leaves):
        own = merkle.leaf_hash(leaf)
        merkle.verify_inclusion(own, index, size, merkle.inclusion_proof(index, size, node), root)
        if merkle.frontier(index, node) != growing:
            raise VerificationError(f"the frontier before leaf {index} is not that of the leaves before it")
        proof = merkle.consistency_proof(index, size, node)
        merkle.verify_consistency(index, growing.root(), size, root, proof)
        growing, _ = growing.append(own)
    if merkle.frontier(size, node) != growing:
        raise VerificationError("the newest frontier is not that of the leaves")
