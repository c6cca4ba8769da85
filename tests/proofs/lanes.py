"""256 forgeries that take the place of one hash, so that one call of a verifier of `fgpr.merkle` verifies all of them.

A verifier hashes the hashes that it is given, looks at their lengths, and compares the last one with a root; nothing
else that it does depends on them. So one run of it does for `Lanes` what 256 runs do for a hash each: `node_hash`
hashes lane by lane, and lanes are unequal to a root where every one of them is. Where a single lane is equal the
verifier accepts, and whoever called it verifies each lane by itself. Lanes can nothing else: a verifier that looked
into a hash in some other way would fail with a TypeError.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from unittest import mock

from fgpr import merkle

_honest = merkle.node_hash


class Lanes:
    """Hashes in the place of one.

    Attributes:
        each: 32 bytes each.
    """

    __slots__ = ("each",)

    def __init__(self, each: Sequence[bytes]) -> None:
        self.each = each

    def __len__(self) -> int:
        """The length of each, as of the hash whose place they take."""
        return merkle.HASH_BYTES

    def __eq__(self, other: object) -> bool:
        """Whether one of them is equal to a hash, or to the other's in its lane."""
        if isinstance(other, Lanes):
            return any(mine == theirs for mine, theirs in zip(self.each, other.each, strict=True))
        return other in self.each

    __hash__ = None  # type: ignore[assignment]  # equal in one lane is not the same

    def hex(self) -> str:
        """For the text of errors."""
        return f"each of {len(self.each)} forgeries"


@lru_cache(maxsize=1024)
def forgeries_of(honest: bytes) -> Lanes:
    """The hash with each of its bits turned over."""
    number = int.from_bytes(honest, "big")
    return Lanes([(number ^ (1 << bit)).to_bytes(len(honest), "big") for bit in range(8 * len(honest))])


def node_hash(left: bytes | Lanes, right: bytes | Lanes) -> bytes | Lanes:
    """`merkle.node_hash`, lane by lane where lanes are given."""
    # Written out, since a call for each lane would take a third of the time; a test holds it to `merkle.node_hash`.
    sha256 = hashlib.sha256
    if isinstance(left, Lanes):
        if isinstance(right, Lanes):
            return Lanes([_honest(one, other) for one, other in zip(left.each, right.each, strict=True)])
        return Lanes([sha256(b"\x01" + lane + right).digest() for lane in left.each])
    if isinstance(right, Lanes):
        start = b"\x01" + left
        return Lanes([sha256(start + lane).digest() for lane in right.each])
    return _honest(left, right)


@contextmanager
def hashing_lanes() -> Iterator[None]:
    """Within this, the verifiers of `fgpr.merkle` take lanes for hashes."""
    with mock.patch.object(merkle, "node_hash", node_hash):
        yield
