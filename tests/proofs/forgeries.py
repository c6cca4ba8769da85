"""Every proof of every tree up to some size, and every single bit of it turned over: what verifies, what must not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fgpr import merkle
from fgpr.errors import VerificationError

BITS = 8 * merkle.HASH_BYTES


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


def of_size(size: int) -> Count:
    """Every inclusion proof of the tree of this size, and every consistency proof that leads to it."""
    hashes, count = leaves_of(size), Count()
    tree = merkle.Tree(hashes)
    root = tree.root()
    for index in range(size):
        proof = merkle.inclusion_proof(index, size, tree.node)
        _try(count, [hashes[index], root, *proof], _inclusion(index, size))
    for old in range(1, size + 1):
        proof = merkle.consistency_proof(old, size, tree.node)
        _try(count, [merkle.frontier(old, tree.node).root(), root, *proof], _consistency(old, size))
    return count


Verify = Callable[[Sequence[bytes]], None]


def _inclusion(index: int, size: int) -> Verify:
    return lambda parts: merkle.verify_inclusion(parts[0], index, size, parts[2:], parts[1])


def _consistency(old: int, size: int) -> Verify:
    return lambda parts: merkle.verify_consistency(old, parts[0], size, parts[1], parts[2:])


def _try(count: Count, parts: list[bytes], verify: Verify) -> None:
    count.proofs += 1
    count.refused += not _holds(verify, parts)
    for place, honest in enumerate(parts):
        number = int.from_bytes(honest, "big")
        for bit in range(BITS):
            parts[place] = (number ^ (1 << bit)).to_bytes(merkle.HASH_BYTES, "big")
            count.accepted += _holds(verify, parts)
        parts[place] = honest
        count.forgeries += BITS


def _holds(verify: Verify, parts: Sequence[bytes]) -> bool:
    try:
        verify(parts)
    except VerificationError:
        return False
    return True
