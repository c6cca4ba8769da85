"""Cosignatures of a checkpoint (C2SP tlog-cosignature, cosignature/v1): a witness saw this log, and no other one.

A cosignature of 72 bytes is the time in seconds since 1970, 8 bytes big-endian, and an Ed25519 signature over

    cosignature/v1
    time SECONDS
    the three lines of the checkpoint

In a note it stands in a line of its own under the log's, by a key of type 0x04. Here the witnesses are the members of
committees, with their identity keys; tools of others read such notes.
"""

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import signatures
from fgpr.auditlog import checkpoint, note
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import EncodingError, VerificationError

TIME_BYTES = 8
COSIGNATURE_BYTES = TIME_BYTES + signatures.SIGNATURE_BYTES

LATEST = 2**63 - 1
"""Largest time, in seconds, that the format takes."""


def cosign(seen: Checkpoint, key: Ed25519PrivateKey, seconds: int) -> bytes:
    """A cosignature, 72 bytes.

    Args:
        seen: found to continue every checkpoint of this log that the witness ever cosigned.
        key: the witness's.
        seconds: the present time, in seconds since 1970.

    Raises:
        EncodingError: a time that the format does not take.
    """
    return _time(seconds) + key.sign(_message(seen, seconds))


def verify(seen: Checkpoint, public_key: bytes, cosignature: bytes) -> None:
    """Check a cosignature.

    Raises:
        VerificationError: it is not this key's of this checkpoint.
        CryptographicError: the key does not have its form.
    """
    seconds = int.from_bytes(cosignature[:TIME_BYTES], "big")
    if len(cosignature) != COSIGNATURE_BYTES or not signatures.holds(
        public_key, _message(seen, seconds), cosignature[TIME_BYTES:]
    ):
        raise VerificationError(f"a cosignature of the checkpoint of {seen.size} leaves does not hold")


def name_of(federation: str, client: str) -> str:
    """Name of a member's key in notes."""
    return f"fgpr-member/{federation}/{client}"


def with_cosignatures(signed: str, cosignatures: Mapping[str, tuple[bytes, bytes]]) -> str:
    """A signed checkpoint with the lines of witnesses added.

    Args:
        signed: the note, signed by the log.
        cosignatures: public key and cosignature by the name of the key.

    Raises:
        EncodingError: a name that notes do not allow.
    """
    lines = [
        note.signature_line(name, key, cosignature, note.COSIGNATURE)
        for name, (key, cosignature) in cosignatures.items()
    ]
    return signed + "".join(lines)


def witnesses(
    signed: str, name: str, service_key: bytes, keys: Mapping[str, bytes]
) -> tuple[Checkpoint, frozenset[str]]:
    """The checkpoint in a note, and the names of those whose cosignatures stand under it.

    Args:
        signed: the note.
        name: of the log's key.
        service_key: the log's key, 32 bytes.
        keys: keys of witnesses by name, 32 bytes each; lines of others are passed over.

    Raises:
        EncodingError: not a note, or its text is no checkpoint.
        VerificationError: the log did not sign it, or a line of one of these keys does not hold.
    """
    seen = checkpoint.open_note(signed, name, service_key)
    found = set()
    for line in note.lines(signed):
        key = keys.get(line.name)
        if key is not None and line.key_hash == note.key_hash(line.name, key, note.COSIGNATURE):
            verify(seen, key, line.signature)
            found.add(line.name)
    return seen, frozenset(found)


def _time(seconds: int) -> bytes:
    if not 0 < seconds <= LATEST:
        raise EncodingError(f"{seconds} s is no time of a cosignature: 1 to {LATEST}")
    return seconds.to_bytes(TIME_BYTES, "big")


def _message(seen: Checkpoint, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{seen.to_text()}".encode()
