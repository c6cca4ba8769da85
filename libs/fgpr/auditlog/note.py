"""Signed notes (C2SP signed-note, the format of Go's sumdb/note): a text and signature lines under it.

    text, one or more lines
    (an empty line)
    U+2014 NAME base64(key hash of 4 bytes || signature)

Ed25519 signatures (type 0x01) are made and checked here; those of witnesses (type 0x04) are
`fgpr.auditlog.cosignature`'s. Lines of other keys are passed over, as the specification asks, so that witnesses can add
theirs.
"""

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, signatures
from fgpr.errors import EncodingError, VerificationError

MAX_SIGNATURES = 100
"""Most signature lines that a note may carry; Go's limit."""

_KEY_HASH_BYTES = 4
ED25519 = b"\x01"
COSIGNATURE = b"\x04"
"""Types of keys."""

_DASH = "\u2014 "


@dataclass(frozen=True)
class SignatureLine:
    """One line under a note: the key's name, the 4 bytes that stand for it, and what it signed."""

    name: str
    key_hash: bytes
    signature: bytes


def key_hash(name: str, public_key: bytes, kind: bytes = ED25519) -> bytes:
    """The 4 bytes that stand for a key in a signature line: SHA-256(name || 0x0A || type || public key)[:4].

    Raises:
        EncodingError: the name is empty, or has a space or a plus sign in it.
    """
    if not _is_name(name):
        raise EncodingError(f"{name!r} is no key name: not empty, no spaces, no plus sign")
    return hashlib.sha256(name.encode() + b"\n" + kind + public_key).digest()[:_KEY_HASH_BYTES]


def sign(text: str, name: str, key: Ed25519PrivateKey) -> str:
    """A note of `text` with one signature.

    Args:
        text: ends with a newline; no control characters but newlines.
        name: of the key; best a URL without its scheme.
        key: signs the text as it stands, with no label: the format has none.

    Raises:
        EncodingError: a text or a name that the format does not allow.
    """
    _check_characters(text)
    if not text.endswith("\n"):
        raise EncodingError("the text of a note ends with a newline")
    return f"{text}\n{signature_line(name, signatures.public_bytes(key), key.sign(text.encode()))}"


def signature_line(name: str, public_key: bytes, signature: bytes, kind: bytes = ED25519) -> str:
    """The line of a signature, with its newline.

    Raises:
        EncodingError: a name that the format does not allow.
    """
    return f"{_DASH}{name} {canonical.to_text(key_hash(name, public_key, kind) + signature)}\n"


def open_signed(note: str, name: str, public_key: bytes) -> str:
    """The text of a note, which carries a signature of this key that holds.

    Args:
        note: text, empty line, signature lines.
        name: of the key.
        public_key: Ed25519, 32 bytes.

    Raises:
        EncodingError: not of a note's form.
        VerificationError: no signature of this key, or one that does not hold.
        CryptographicError: the key does not have its form.
    """
    text, found = _split(note)
    wanted = (name, key_hash(name, public_key))
    mine = [line.signature for line in found if (line.name, line.key_hash) == wanted]
    if not mine:
        raise VerificationError(f"the note has no signature of {name!r} with key hash {wanted[1].hex()}")
    for signature in mine:
        if not signatures.holds(public_key, text.encode(), signature):
            raise VerificationError(f"the signature of {name!r} on the note does not hold")
    return text


def lines(note: str) -> tuple[SignatureLine, ...]:
    """The signature lines of a note; nothing is checked but their form.

    Raises:
        EncodingError: not of a note's form.
    """
    return _split(note)[1]


def _split(note: str) -> tuple[str, tuple[SignatureLine, ...]]:
    _check_characters(note)
    # The text may have empty lines of its own; the last one ends it.
    head, separator, tail = note.rpartition("\n\n")
    found = tail.removesuffix("\n").split("\n")
    if not separator or not tail.endswith("\n"):
        raise EncodingError("a note is a text, an empty line and signature lines, the last one ended by a newline")
    if len(found) > MAX_SIGNATURES:
        raise EncodingError(f"a note of {len(found)} signatures; at most {MAX_SIGNATURES}")
    return head + "\n", tuple(map(_split_line, found))


def _split_line(line: str) -> SignatureLine:
    name, separator, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not separator or not _is_name(name):
        raise EncodingError(f"{line[:80]!r} is no signature line")
    raw = canonical.from_text(encoded)
    if len(raw) <= _KEY_HASH_BYTES:
        raise EncodingError(f"the signature line of {name!r} has {len(raw)} bytes: too few for a signature")
    return SignatureLine(name, raw[:_KEY_HASH_BYTES], raw[_KEY_HASH_BYTES:])


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(character.isspace() for character in name)


def _check_characters(text: str) -> None:
    for place, character in enumerate(text):
        if (character < " " and character != "\n") or "\ud800" <= character <= "\udfff":
            raise EncodingError(f"character {place} of a note is {character!r}, which is not allowed there")
