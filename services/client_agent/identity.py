"""The agent's identity: one Ed25519 key in its home folder."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import keyfile
from fgpr import private_keys

FILE_NAME = "identity.pem"


def create(home: Path) -> Ed25519PrivateKey:
    """A new identity, on disk in `home` when this returns; the folder is made where there is none.

    Raises:
        CryptographicError: there is an identity already, or the folder is not the agent's own.
    """
    keyfile.make_folder(home)
    key = Ed25519PrivateKey.generate()
    keyfile.write(home / FILE_NAME, private_keys.to_pem(key))
    return key


def load(home: Path) -> Ed25519PrivateKey:
    """The identity in `home`.

    Raises:
        CryptographicError: there is none, it is damaged, or others can touch it; the message says what to do.
    """
    path = home / FILE_NAME
    return private_keys.from_pem(keyfile.read(path), str(path))
