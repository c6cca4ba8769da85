"""Ed25519 keys at rest: their PEM form, and who may be able to touch the file of a private one.

The judgement is here, pure; opening and writing files is left to each service.
"""

import stat

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
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


def to_pem(key: Ed25519PrivateKey) -> bytes:
    """The key as unencrypted PKCS #8 PEM (RFC 8410)."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def from_pem(raw: bytes, place: str) -> Ed25519PrivateKey:
    """The inverse of `to_pem`.

    Args:
        raw: what the file holds.
        place: the file, for the message.

    Raises:
        CryptographicError: not PEM, encrypted, or a key of another kind; the message never quotes the content.
    """
    try:
        key = load_pem_private_key(raw, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CryptographicError(
            f"{place} holds no unencrypted PKCS #8 PEM key: restore it from a backup, or move it away and enrol anew"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CryptographicError(f"{place} holds a key of another kind than Ed25519")
    return key


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
