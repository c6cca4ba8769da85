"""The agent's identity: one Ed25519 key in its home folder, under a passphrase where its owner names one."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import keyfile
from fgpr import private_keys

FILE_NAME = "identity.pem"

VARIABLE = "FGPR_KEY_PASSPHRASE_FILE"
"""Environment variable that names the file of the passphrase; without it identities are not encrypted."""


def create(home: Path) -> Ed25519PrivateKey:
    """A new identity, on disk in `home` when this returns; the folder is made where there is none.

    Raises:
        CryptographicError: there is an identity already, or the folder is not the agent's own.
    """
    keyfile.make_folder(home)
    key = Ed25519PrivateKey.generate()
    write(home / FILE_NAME, key)
    return key


def load(home: Path) -> Ed25519PrivateKey:
    """The identity in `home`.

    Raises:
        CryptographicError: there is none, it is damaged, or others can touch it; the message says what to do.
    """
    return read(home / FILE_NAME)


def write(path: Path, key: Ed25519PrivateKey) -> None:
    """Put an identity into a new file.

    Raises:
        CryptographicError: there is one already, it cannot be written, or the passphrase cannot be read.
    """
    keyfile.write(path, private_keys.to_pem(key, _passphrase()))


def read(path: Path) -> Ed25519PrivateKey:
    """The identity in a file; raises as `load`."""
    return private_keys.from_pem(keyfile.read(path), str(path), _passphrase())


def _passphrase() -> bytes | None:
    place = os.environ.get(VARIABLE)
    # As a key itself: for its owner's eyes only.
    return private_keys.passphrase_from(keyfile.read(Path(place)), place) if place else None
