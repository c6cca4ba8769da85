"""Who may act: the party behind a key, judged in the transaction of the effect."""

from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients
from aggregator.storage.clients import ClientRow
from aggregator.storage.engine import Connection
from fgpr.errors import Forbidden, Unauthenticated
from fgpr.message import timestamp


def authorise(connection: Connection, caller: Caller, federation: str) -> ClientRow:
    """The party behind a key, judged in the transaction of the effect.

    Raises:
        Unauthenticated: nobody holds this key.
        Forbidden: its holder is revoked, or belongs to another federation.
    """
    row = clients.read_key_holder(connection, caller.key_id)
    if row is None:
        raise Unauthenticated("the signature does not hold")
    if row.revoked_at is not None:
        raise Forbidden(f"{row.client} was revoked at {timestamp(row.revoked_at)}")
    if row.federation != federation:
        raise Forbidden(f"{row.client} belongs to federation {row.federation}, not to {federation}")
    return row


def find_key(context: Context, key_id: str) -> bytes | None:
    """The public key of that id, revoked or not: a revoked client is told so."""
    with context.database.read() as connection:
        row = clients.read_key_holder(connection, key_id)
    return None if row is None else row.identity_key
