"""A whole log in one text file, to be verified without any server.

The first line is a JSON object: the format, the service key, and signed checkpoints. Each line after it is a leaf, byte
for byte, so that line n + 2 of the file is leaf n of the log: a leaf is JSON without a line break in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import Field

from fgpr import canonical, merkle, signatures
from fgpr.auditlog import checkpoint
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import follow_leaves, verify_size
from fgpr.errors import EncodingError, VerificationError
from fgpr.message import Message, PublicKey
from fgpr.secagg.messages import LogPosition

FORMAT = "fgpr-audit-1"

_NO_KEYS: Mapping[str, bytes] = MappingProxyType({})


class Head(Message):
    """The first line."""

    format: str = Field(pattern=f"^{FORMAT}$")
    service_key: PublicKey
    checkpoints: tuple[str, ...]


@dataclass(frozen=True)
class Bundle:
    """A log as somebody holds it.

    Attributes:
        service_key: the aggregator's public key, 32 bytes, by which the log is named.
        notes: signed checkpoints of it.
        leaves: every leaf, in order.
    """

    service_key: bytes
    notes: tuple[str, ...]
    leaves: tuple[bytes, ...]

    @property
    def name(self) -> str:
        """The log's name."""
        return checkpoint.name_of(self.service_key)

    @property
    def newest(self) -> str:
        """The signed checkpoint of most leaves.

        Raises:
            VerificationError: there is none, or one is not signed by the service key, or of another log.
            EncodingError: one does not have its form.
        """
        if not self.notes:
            raise VerificationError("nobody signed this log: there is no checkpoint in it")
        return max(self.notes, key=lambda note: open_position(note, self.service_key).size)

    def lines(self) -> Iterator[bytes]:
        """The lines of the file, each with its line break.

        Raises:
            EncodingError: a leaf has a line break in it.
        """
        head = Head(format=FORMAT, service_key=self.service_key, checkpoints=self.notes)
        yield head.encode() + b"\n"
        for index, leaf in enumerate(self.leaves):
            if b"\n" in leaf:
                raise EncodingError(f"leaf {index} has a line break in it: no leaf that we know has")
            yield leaf + b"\n"

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> "Bundle":
        """The inverse of `lines`; nothing is verified but the form.

        Raises:
            EncodingError: not a bundle.
        """
        parts = iter(lines)
        first = next(parts, b"")
        try:
            head = Head.decode(first.removesuffix(b"\n"))
        except EncodingError as error:
            raise EncodingError(f"this is no bundle of an audit log: its first line {error}") from error
        return cls(head.service_key, head.checkpoints, tuple(line.removesuffix(b"\n") for line in parts))

    def positions(self) -> tuple[LogPosition, ...]:
        """The checkpoints, their signatures checked.

        Raises:
            VerificationError: one is not signed by the service key, or of another log.
            EncodingError: one does not have its form.
        """
        return tuple(open_position(note, self.service_key) for note in self.notes)


def open_position(note: str, service_key: bytes) -> LogPosition:
    """The position in a signed checkpoint of the log of a service key.

    Raises:
        VerificationError: it is not signed by this key, or of another log.
        EncodingError: not a checkpoint.
    """
    name = checkpoint.name_of(service_key)
    seen = checkpoint.open_note(note, name, service_key)
    if seen.origin != name:
        raise VerificationError(f"the checkpoint is of log {seen.origin!r}, not of {name!r}")
    return LogPosition(size=seen.size, root=seen.root)


def check_key(note: str, service_key: bytes) -> None:
    """Check that a checkpoint names the log of this key: who holds the checkpoint needs no other word for the key.

    Raises:
        VerificationError: it is signed under another name.
    """
    named = note.split("\n", 1)[0]
    if named != checkpoint.name_of(service_key):
        told = f"the key that is shown is {signatures.key_id(service_key)}"
        raise VerificationError(f"the checkpoint is of log {named[:80]!r}, and {told}: that is another log")


def verify_bundle(bundle: Bundle, held: Sequence[LogPosition], roster_keys: Mapping[str, bytes] = _NO_KEYS) -> Trail:
    """Verify a log from its first leaf, against its own checkpoints and those that were held outside.

    Args:
        bundle: the log.
        held: checkpoints that were kept elsewhere, their signatures checked.
        roster_keys: public keys of rosters that are known from outside, by federation, 32 bytes each.

    Raises:
        VerificationError: the log is not the one of every checkpoint, or a leaf does not follow; says which.
        EncodingError: a leaf or checkpoint does not have its form.
    """
    own = bundle.positions()
    if not own:
        raise VerificationError("nobody signed this log: there is no checkpoint in it")
    newest = max(own, key=lambda position: position.size)
    if newest.size != len(bundle.leaves):
        raise VerificationError(f"the log has {len(bundle.leaves)} leaves, its newest checkpoint counts {newest.size}")
    hashes = merkle.leaf_hashes(bundle.leaves)
    tree = merkle.Tree(hashes)
    for position in (*own, *held):
        verify_size(tree, position)
    return follow_leaves(bundle.leaves, tree, bundle.service_key, roster_keys)


def fingerprint(position: LogPosition) -> str:
    """A checkpoint for people: its size and root."""
    return f"{position.size} leaves, root {canonical.to_text(position.root)}"
