"""The one declaration of a client's rows, where its federation draws by them; on disk before it is sent."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import durable_file
from fgpr.errors import EncodingError, LocalProtocolError
from fgpr.message import Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.ticket import Ticket

FILE_NAME = "declared-weight.json"


def make(home: Path, ticket: Ticket, rows: int | None, key: Ed25519PrivateKey) -> Signed[DeclaredWeight] | None:
    """What the client declares: its rows, at most the cap; None where the ticket asks for nothing.

    A client declares one weight, ever: where one is in the home already, the answer to it was lost, and it stands.

    Args:
        home: of the client.
        ticket: its ticket.
        rows: its number of rows, at least 1.
        key: its identity key.

    Raises:
        LocalProtocolError: the ticket asks for rows and there are none.
        EncodingError: the file is damaged.
    """
    if ticket.weight_cap is None:
        return None
    known = load(home)
    if known is not None:
        return known
    if rows is None or rows < 1:
        raise LocalProtocolError(
            f"{ticket.federation} draws its clients by the number of their rows: name your data, and the number of "
            f"rows in it, up to {ticket.weight_cap}, is declared; it will stand in the roster and in the audit log, "
            "where everybody can read it"
        )
    weight = DeclaredWeight(federation=ticket.federation, client=ticket.client, weight=min(rows, ticket.weight_cap))
    signed = Signed[DeclaredWeight].make(key, weight)
    durable_file.write_once(home / FILE_NAME, signed.encode())
    return signed


def again(home: Path, key: Ed25519PrivateKey) -> Signed[DeclaredWeight] | None:
    """The same weight under the identity key that takes the place of the present one; None where it declared nothing.

    Raises:
        EncodingError: the file is damaged.
    """
    known = load(home)
    return None if known is None else Signed[DeclaredWeight].make(key, known.message)


def load(home: Path) -> Signed[DeclaredWeight] | None:
    """What the client in `home` declared; None where it declared nothing.

    Raises:
        EncodingError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        return Signed[DeclaredWeight].decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except EncodingError as error:
        raise EncodingError(f"{path} is damaged ({error}): restore it from a backup") from error
