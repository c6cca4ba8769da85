"""Header fields for a request that another program sends, such as curl."""

from pathlib import Path

from client_agent import membership
from fgpr.errors import DataError

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")


def lines(home: Path, method: str, path: str, body: bytes = b"") -> list[str]:
    """One line for each field, signed with the identity in `home`.

    Args:
        home: of an enrolled party.
        method: in capitals, as it will be sent.
        path: from the aggregator's address on, with its query.
        body: the very bytes that will be sent.

    Raises:
        DataError: the method is none of `METHODS`.
        LocalProtocolError: the home is enrolled nowhere, or the path is none.
        CryptographicError: the identity cannot be read.
    """
    if method not in METHODS:
        raise DataError(f"{method!r} is none of {', '.join(METHODS)}")
    with membership.connect(home) as api:
        return [f"{name}: {value}" for name, value in api.signed_headers(method, path, body).items()]
