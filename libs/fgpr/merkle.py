"""Merkle trees and their proofs, as in RFC 6962 (section 2.1) and RFC 9162 (section 2.1), with SHA-256.

A complete node is the hash of 2^level leaves that start at index * 2^level; it never changes once those leaves exist.
Proofs are computed from complete nodes alone, fetched through a callable, so that a database may store them and a
proof costs O(log n) reads. Hashes have 32 bytes; a proof is a tuple of hashes in the order of the RFCs.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from fgpr.errors import EncodingError, LocalProtocolError, VerificationError

HASH_BYTES = 32

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""Root of the tree without leaves."""

Node = Callable[[int, int], bytes]
"""`node(level, index)`: the hash of the complete subtree of 2^level leaves, number `index` of its level."""

Proof = tuple[bytes, ...]


def leaf_hash(leaf: bytes) -> bytes:
    """Hash of a leaf: SHA-256 over 0x00 and its bytes."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def leaf_hashes(leaves: Iterable[bytes]) -> list[bytes]:
    """`leaf_hash` of each of many leaves, in order."""
    sha256 = hashlib.sha256
    return [sha256(b"\x00" + leaf).digest() for leaf in leaves]


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node: SHA-256 over 0x01 and its two children."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaf_hashes: Sequence[bytes]) -> bytes:
    """Root of the tree over these leaf hashes (MTH of RFC 6962)."""
    return Tree(leaf_hashes).root()


class Tree:
    """The complete nodes of a tree in memory.

    Args:
        leaf_hashes: one hash a leaf, in order.

    Raises:
        EncodingError: a leaf hash does not have 32 bytes.
    """

    def __init__(self, leaf_hashes: Sequence[bytes]) -> None:
        _check_hashes(leaf_hashes)
        self.size = len(leaf_hashes)
        self._levels = [list(leaf_hashes)]
        # Calls of `node_hash` would take as long as the hashing.
        sha256 = hashlib.sha256
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            pairs = zip(below[::2], below[1::2], strict=False)
            self._levels.append([sha256(b"\x01" + left + right).digest() for left, right in pairs])

    def node(self, level: int, index: int) -> bytes:
        """The complete node `index` of `level`.

        Raises:
            LocalProtocolError: this tree has no such complete node.
        """
        if 0 <= level < len(self._levels) and 0 <= index < len(self._levels[level]):
            return self._levels[level][index]
        raise LocalProtocolError(f"a tree of {self.size} leaves has no complete node {index} of level {level}")

    def root(self) -> bytes:
        """Root of the whole tree."""
        return frontier(self.size, self.node).root()


@dataclass(frozen=True)
class Frontier:
    """A tree reduced to what appending to it takes: its largest complete subtrees, from left to right.

    Attributes:
        size: number of leaves.
        hashes: one for each 1 bit of `size`, the largest subtree first.
    """

    size: int
    hashes: Proof

    def __post_init__(self) -> None:
        """Check the form; raises EncodingError."""
        _check_hashes(self.hashes)
        if self.size < 0 or len(self.hashes) != self.size.bit_count():
            raise EncodingError(f"{len(self.hashes)} hashes are no frontier of a tree of {self.size} leaves")

    @classmethod
    def empty(cls) -> Self:
        """The frontier of the tree without leaves."""
        return cls(0, ())

    def root(self) -> bytes:
        """Root of the tree."""
        return _fold(self.hashes)

    def append(self, new: bytes) -> tuple["Frontier", list[tuple[int, int, bytes]]]:
        """The frontier with one more leaf.

        Args:
            new: hash of the leaf.

        Returns:
            The new frontier, and every node that this leaf completes as (level, index, hash), the leaf itself first.
        """
        hashes, level, index = list(self.hashes), 0, self.size
        completed = [(level, index, new)]
        while index % 2 == 1:
            new = node_hash(hashes.pop(), new)
            level, index = level + 1, index // 2
            completed.append((level, index, new))
        return Frontier(self.size + 1, (*hashes, new)), completed


def frontier(size: int, node: Node) -> Frontier:
    """The frontier of the first `size` leaves, through their complete nodes."""
    return Frontier(size, _complete_subtrees(0, size, node))


def inclusion_proof(index: int, size: int, node: Node) -> Proof:
    """Proof that leaf `index` is in the tree of the first `size` leaves (PATH of RFC 6962, 2.1.1).

    Raises:
        LocalProtocolError: that tree has no such leaf.
    """
    return tuple(range_hash(start, end, node) for start, end in inclusion_ranges(index, size))


def inclusion_ranges(index: int, size: int) -> tuple[tuple[int, int], ...]:
    """The leaves, from start up to end, that each hash of an inclusion proof stands for, lowest first.

    Raises:
        LocalProtocolError: a tree of that size has no such leaf.
    """
    if not 0 <= index < size:
        raise LocalProtocolError(f"a tree of {size} leaves has no leaf {index}; leaves count from 0")
    ranges: list[tuple[int, int]] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return tuple(reversed(ranges))


def consistency_proof(old: int, new: int, node: Node) -> Proof:
    """Proof that the tree of `new` leaves begins with the tree of `old` leaves (PROOF of RFC 6962, 2.1.2).

    Empty where `old` is 0 or equals `new`: the two roots alone show it.

    Raises:
        LocalProtocolError: the sizes are not 0 <= old <= new.
    """
    if not 0 <= old <= new:
        raise LocalProtocolError(f"no consistency proof leads from {old} leaves to {new}; sizes never fall")
    if old in (0, new):
        return ()
    proof: list[bytes] = []
    start, end, whole = 0, new, True
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(range_hash(middle, end, node))
            end = middle
        else:
            proof.append(range_hash(start, middle, node))
            start, whole = middle, False
    if not whole:
        proof.append(range_hash(start, end, node))
    return tuple(reversed(proof))


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> None:
    """Check a proof of `inclusion_proof` (RFC 9162, 2.1.3.2).

    Args:
        leaf: hash of the leaf, 32 bytes.
        index: its place, from 0.
        size: leaves of the tree.
        proof: hashes, lowest first.
        expected: root of the tree.

    Raises:
        VerificationError: the proof does not lead from this leaf at this place to this root.
    """
    if not 0 <= index < size:
        raise VerificationError(f"leaf {index} is not in a tree of {size} leaves")
    _verify_hashes(leaf, expected, *proof)
    path, last, got = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise VerificationError(f"the inclusion proof of leaf {index} in {size} has too many hashes")
        if path % 2 == 1 or path == last:
            got = node_hash(sibling, got)
            while path % 2 == 0 and path != 0:
                path, last = path >> 1, last >> 1
        else:
            got = node_hash(got, sibling)
        path, last = path >> 1, last >> 1
    if last != 0:
        raise VerificationError(f"the inclusion proof of leaf {index} in {size} has too few hashes")
    _verify_root(f"leaf {index} in {size}", expected, got)


def verify_consistency(old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Check a proof of `consistency_proof` (RFC 9162, 2.1.4.2).

    From size 0 the proof is empty and the old root is `EMPTY_ROOT`; between equal sizes it is empty and the roots are
    equal.

    Raises:
        VerificationError: the proof does not show that the new tree begins with the old one.
    """
    what = f"consistency from {old_size} to {new_size}"
    if not 0 <= old_size <= new_size:
        raise VerificationError(f"{what}: sizes never fall")
    _verify_hashes(old_root, new_root, *proof)
    if old_size in (0, new_size):
        if proof:
            raise VerificationError(f"{what}: the proof must be empty, got {len(proof)} hashes")
        _verify_root(f"{what}, old tree", old_root, EMPTY_ROOT if old_size == 0 else new_root)
        if new_size == 0:
            _verify_root(f"{what}, new tree", new_root, EMPTY_ROOT)
        return
    if not proof:
        raise VerificationError(f"{what}: the proof has too few hashes")
    hashes = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    path, last = old_size - 1, new_size - 1
    while path % 2 == 1:
        path, last = path >> 1, last >> 1
    old_got = new_got = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise VerificationError(f"{what}: the proof has too many hashes")
        if path % 2 == 1 or path == last:
            old_got, new_got = node_hash(sibling, old_got), node_hash(sibling, new_got)
            while path % 2 == 0 and path != 0:
                path, last = path >> 1, last >> 1
        else:
            new_got = node_hash(new_got, sibling)
        path, last = path >> 1, last >> 1
    if last != 0:
        raise VerificationError(f"{what}: the proof has too few hashes")
    _verify_root(f"{what}, old tree", old_root, old_got)
    _verify_root(f"{what}, new tree", new_root, new_got)


def _split(count: int) -> int:
    """The largest power of two below `count`, where the RFCs split a tree."""
    return 1 << ((count - 1).bit_length() - 1)


def _complete_subtrees(start: int, end: int, node: Node) -> Proof:
    hashes: list[bytes] = []
    while start < end:
        level = (end - start).bit_length() - 1
        hashes.append(node(level, start >> level))
        start += 1 << level
    return tuple(hashes)


def range_hash(start: int, end: int, node: Node) -> bytes:
    """The hash over the leaves from `start` up to `end`, for ranges as the splitting of a tree makes them."""
    return _fold(_complete_subtrees(start, end, node))


def _fold(hashes: Sequence[bytes]) -> bytes:
    if not hashes:
        return EMPTY_ROOT
    result = hashes[-1]
    for left in reversed(hashes[:-1]):
        result = node_hash(left, result)
    return result


def _check_hashes(hashes: Sequence[bytes]) -> None:
    if set(map(len, hashes)) <= {HASH_BYTES}:
        return
    for place, value in enumerate(hashes):
        if len(value) != HASH_BYTES:
            raise EncodingError(f"hash {place} has {len(value)} bytes, not {HASH_BYTES}")


def _verify_hashes(*hashes: bytes) -> None:
    # Another length could move the border between two children without changing what is hashed.
    try:
        _check_hashes(hashes)
    except EncodingError as error:
        raise VerificationError(f"not a proof: {error}") from error


def _verify_root(what: str, expected: bytes, got: bytes) -> None:
    if got != expected:
        raise VerificationError(f"{what}: expected root {expected.hex()}, got {got.hex()}")
