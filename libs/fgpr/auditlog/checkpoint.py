"""Checkpoints of a transparency log (C2SP tlog-checkpoint): origin, size and root as a signed note.

The text has exactly three lines: origin, number of leaves in decimal, base64 of the root. The extension lines that
the specification permits and advises against are refused: no monitor can audit them.
"""

import re
from dataclasses import dataclass
from typing import Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, merkle, signatures
from fgpr.auditlog import note
from fgpr.errors import EncodingError

MAX_SIZE = 2**53
"""Most leaves of a log: sizes also travel as JSON numbers, which end there."""

_SIZE = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)


@dataclass(frozen=True)
class Checkpoint:
    """What a log commits to at one size.

    Attributes:
        origin: names the log; one line, best a URL without its scheme.
        size: number of leaves.
        root: RFC 6962 root of the tree of that size, 32 bytes.

    Raises:
        EncodingError: at construction, where one of them does not have its form.
    """

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        """Check the form."""
        if not self.origin or not self.origin.isprintable():
            raise EncodingError(f"{self.origin!r} is no origin: one line of printable characters")
        if not 0 <= self.size <= MAX_SIZE:
            raise EncodingError(f"a log of {self.size} leaves; allowed are 0 to {MAX_SIZE}")
        if len(self.root) != merkle.HASH_BYTES:
            raise EncodingError(f"a root has {merkle.HASH_BYTES} bytes, not {len(self.root)}")

    def to_text(self) -> str:
        """The three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{canonical.to_text(self.root)}\n"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The inverse of `to_text`.

        Raises:
            EncodingError: not exactly what `to_text` writes.
        """
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise EncodingError("a checkpoint has three lines: origin, size, root")
        origin, size, root = lines[:3]
        if not _SIZE.fullmatch(size):
            raise EncodingError(f"{size[:40]!r} is no size: decimal digits without leading zeros, at most {MAX_SIZE}")
        return cls(origin, int(size), canonical.from_text(root))


def sign(checkpoint: Checkpoint, name: str, key: Ed25519PrivateKey) -> str:
    """The checkpoint as a note signed by the log.

    Raises:
        EncodingError: a key name that notes do not allow (empty, with spaces or a plus sign).
    """
    return note.sign(checkpoint.to_text(), name, key)


def open_note(text: str, name: str, public_key: bytes) -> Checkpoint:
    """The checkpoint in a note signed by the log.

    Args:
        text: the whole note.
        name: of the log's key.
        public_key: Ed25519, 32 bytes.

    Raises:
        EncodingError: not a note, or its text is no checkpoint.
        VerificationError: no signature of this key, or one that does not hold.
        CryptographicError: the key does not have its form.
    """
    return Checkpoint.from_text(note.open_signed(text, name, public_key))


def name_of(public_key: bytes) -> str:
    """Name of the log that an aggregator keeps and of the key that signs it: fixed by its service key, 32 bytes.

    The aggregator's address may change; the key is what everybody was given in a ticket.
    """
    return f"fgpr-log/{signatures.key_id(public_key)}"
