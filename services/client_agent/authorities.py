"""Who vouches for the aggregator's TLS certificate where none of the usual authorities does: `ca.pem` in the home."""

import ssl
from pathlib import Path

from client_agent import durable_file, keyfile
from fgpr.errors import DataError

FILE_NAME = "ca.pem"


def keep(home: Path, pem: bytes) -> None:
    """Write the authority's certificates into `home`, which is made where there is none.

    Raises:
        DataError: there is no certificate in it.
        CryptographicError: the folder is not the agent's own.
    """
    _context(pem, "the file of --ca")
    keyfile.make_folder(home)
    durable_file.replace(home / FILE_NAME, pem)


def load(home: Path) -> ssl.SSLContext | None:
    """The authorities in `home`; None where there are none, for the usual ones.

    Raises:
        DataError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        pem = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _context(pem, str(path))


def _context(pem: bytes, name: str) -> ssl.SSLContext:
    # Without any text at all, ssl would take the usual authorities.
    if b"-----BEGIN CERTIFICATE-----" not in pem:
        raise DataError(f"{name} holds no certificate in PEM")
    try:
        # An authority of one's own is the only one: no other may vouch for this aggregator.
        return ssl.create_default_context(cadata=pem.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{name} holds no certificate in PEM: {error}") from error
