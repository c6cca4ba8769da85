"""Positions in a log that signed documents name: each has to be one of that very log."""

from fgpr import merkle
from fgpr.auditlog.trail import Trail, require
from fgpr.secagg.messages import LogPosition


def check_position(trail: Trail, index: int, named: LogPosition, since: int = 0) -> None:
    """Check that a document names a checkpoint of the log that it stands in.

    Args:
        trail: the log.
        index: of the leaf that holds the document.
        named: the checkpoint.
        since: fewest leaves that it may count.

    Raises:
        VerificationError: it lies after its own leaf or before `since`, or is another log's.
    """
    require(since <= named.size <= index, f"its checkpoint of {named.size} leaves is not between {since} and {index}")
    held = named.root == merkle.frontier(named.size, trail.tree.node).root()
    require(held, f"its checkpoint of {named.size} leaves is not one of this log")
