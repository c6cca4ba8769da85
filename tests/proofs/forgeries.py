"""Every proof of every tree up to some size, and every single bit of it turned over: what verifies, what must not.

`fgpr.merkle` verifies the 256 forgeries of one hash in one call (`proofs.lanes`); `one_by_one` takes a call for each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fgpr import merkle
from fgpr.errors import VerificationError
from proofs.lanes import forgeries_of, hashing_lanes

BITS = 8 * merkle.HASH_BYTES

Verify = Callable[[Sequence[Any]], None]
Attempt = Callable[[Sequence[bytes], int, Verify], int]
"""How many of the 256 forgeries of one hash of a proof are accepted."""


@dataclass
class Count:
    """What was tried, and what came out.

    Attributes:
        proofs: proofs of honest trees.
        refused: of these, how many were refused; none may be.
        forgeries: proofs with one bit turned over, that of a hash, a leaf or a root.
        accepted: of these, how many were accepted; none may be.
    """

    proofs: int = 0
    refused: int = 0
    forgeries: int = 0
    accepted: int = 0

    def add(self, other: "Count") -> None:
        """Count what another one counted."""
        self.proofs += other.proofs
        self.refused += other.refused
        self.forgeries += other.forgeries
        self.accepted += other.accepted


def leaves_of(size: int) -> list[bytes]:
    """Hashes of distinct leaves."""
    return [merkle.leaf_hash(number.to_bytes(4, "big")) for number in range(size)]


def all_at_once(parts: Sequence[bytes], place: int, verify: Verify) -> int:
    """The forgeries of the hash at `place`, verified together; one by one where not all of them are refused."""
    with hashing_lanes():
        taken = _holds(verify, [*parts[:place], forgeries_of(parts[place]), *parts[place + 1 :]])
    return one_by_one(parts, place, verify) if taken else 0


def one_by_one(parts: Sequence[bytes], place: int, verify: Verify) -> int:
    """The forgeries of the hash at `place`, each verified by itself."""
    forgeries = forgeries_of(parts[place]).each
    return sum(_holds(verify, [*parts[:place], forged, *parts[place + 1 :]]) for forged in forgeries)


def of_size(size: int, attempt: Attempt = all_at_once) -> Count:
    """Every inclusion proof of the tree of this size, and every consistency proof that leads to it."""
    hashes, count = leaves_of(size), Count()
    tree = merkle.Tree(hashes)
    root = tree.root()
    for index in range(size):
        proof = merkle.inclusion_proof(index, size, tree.node)
        _try(count, [hashes[index], root, *proof], _inclusion(index, size), attempt)
    for old in range(1, size + 1):
        proof = merkle.consistency_proof(old, size, tree.node)
        parts = [merkle.frontier(old, tree.node).root(), root, *proof]
        _try(count, parts, _consistency(old, size), attempt)
    return count


def _inclusion(index: int, size: int) -> Verify:
    return lambda parts: merkle.verify_inclusion(parts[0], index, size, parts[2:], parts[1])


def _consistency(old: int, size: int) -> Verify:
    return lambda parts: merkle.verify_consistency(old, parts[0], size, parts[1], parts[2:])


def _try(count: Count, parts: Sequence[bytes], verify: Verify, attempt: Attempt) -> None:
    count.proofs += 1
    count.refused += not _holds(verify, parts)
    for place in range(len(parts)):
        count.accepted += attempt(parts, place, verify)
        count.forgeries += BITS


def _holds(verify: Verify, parts: Sequence[Any]) -> bool:
    try:
        verify(parts)
    except VerificationError:
        return False
    return True
