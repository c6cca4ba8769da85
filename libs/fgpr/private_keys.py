"""Ed25519 keys at rest: their PEM form, and who may be able to touch the file of a private one.

The judgement is here, pure; opening and writing files is left to each service.
"""

import stat

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from fgpr.errors import CryptographicError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
FILE_LIMIT = 4096
"""More bytes than any PEM of an Ed25519 key has."""

SHORTEST, LONGEST = 12, 1_000
"""Bytes of a passphrase: whoever has the file may try as many as he likes."""


def to_pem(key: Ed25519PrivateKey, passphrase: bytes | None = None) -> bytes:
    """The key as PKCS #8 PEM (RFC 8410); under a passphrase encrypted by PBES2 (RFC 8018)."""
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def from_pem(raw: bytes, place: str, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """The inverse of `to_pem`.

    Args:
        raw: what the file holds.
        place: the file, for the message.
        passphrase: under which it is encrypted; None for one that is not.

    Raises:
        CryptographicError: not PEM, encrypted although no passphrase is named, under another one, not encrypted
            although one is, or a key of another kind; the message never quotes the content.
    """
    try:
        key = load_pem_private_key(raw, password=passphrase)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # Also where it is not encrypted: whoever swapped it in did not need to know the passphrase.
        form = "unencrypted PKCS #8 PEM key" if passphrase is None else "PKCS #8 PEM key under the passphrase"
        raise CryptographicError(
            f"{place} holds no {form}: restore it from a backup, name the file of its passphrase if it has one, or "
            "move it away and enrol anew"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CryptographicError(f"{place} holds a key of another kind than Ed25519")
    return key


def passphrase_from(raw: bytes, place: str) -> bytes:
    """A passphrase as its file holds it, without the line break at its end.

    Args:
        raw: what the file holds.
        place: the file, for the message.

    Raises:
        CryptographicError: it is too short or too long to be one.
    """
    passphrase = raw.rstrip(b"\r\n")
    if not SHORTEST <= len(passphrase) <= LONGEST:
        raise CryptographicError(
            f"{place} holds a passphrase of {len(passphrase)} bytes: it has {SHORTEST} at least, {LONGEST} at most"
        )
    return passphrase


def public_to_pem(key: Ed25519PublicKey) -> bytes:
    """A public key as SubjectPublicKeyInfo PEM (RFC 8410)."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public_from_pem(raw: bytes, place: str) -> Ed25519PublicKey:
    """The inverse of `public_to_pem`.

    Args:
        raw: what the file holds.
        place: the file, for the message.

    Raises:
        CryptographicError: not the PEM of a public key, or a key of another kind.
    """
    try:
        key = load_pem_public_key(raw)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CryptographicError(
            f"{place} holds no public key in PEM: `fgpr-aggregator roster create-key` writes one beside the private key"
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise CryptographicError(f"{place} holds a key of another kind than Ed25519")
    return key


def check_file(place: str, mode: int, owner: int, user: int) -> None:
    """Refuse a key file that another user owns, reads or writes.

    Args:
        place: the file, for the message.
        mode: st_mode of the opened file, type bits included.
        owner: its st_uid.
        user: the effective user id of this process.

    Raises:
        CryptographicError: says what to do.
    """
    if not stat.S_ISREG(mode):
        raise CryptographicError(f"{place} is no regular file: a key is kept in the file itself")
    if owner != user:
        raise CryptographicError(f"{place} belongs to uid {owner}, this process runs as {user}: chown {user} {place}")
    if stat.S_IMODE(mode) & 0o077:
        raise CryptographicError(
            f"{place} has mode {stat.S_IMODE(mode):04o}: others can touch it. chmod 600 {place}, and think of the key "
            "as known if they could read it"
        )


def check_folder(place: str, mode: int, owner: int, user: int) -> None:
    """Refuse a folder in which another user can swap the key file.

    Args and errors as for `check_file`; root may own the folder.

    Raises:
        CryptographicError: says what to do.
    """
    if owner not in (user, 0):
        raise CryptographicError(f"{place} belongs to uid {owner}, this process runs as {user}: chown {user} {place}")
    if stat.S_IMODE(mode) & 0o022:
        raise CryptographicError(
            f"{place} has mode {stat.S_IMODE(mode):04o}: others can swap its files. chmod 700 {place}"
        )
