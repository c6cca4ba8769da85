"""Who may act: the party behind a key, judged in the transaction of the effect."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients, retired_keys, staff
from aggregator.storage.clients import ClientRow
from aggregator.storage.engine import Connection
from aggregator.storage.staff import StaffRow
from fgpr.errors import Forbidden, Unauthenticated
from fgpr.message import timestamp
from fgpr.staff import StaffRole

Holders = Mapping[str, ClientRow]
"""Parties by the id of the key that they hold, as one transaction sees them."""


def holders_of(connection: Connection, callers: Iterable[Caller]) -> Holders:
    """The parties behind the keys of many callers, read at once."""
    return clients.read_key_holders(connection, {caller.key_id for caller in callers})


def authorise(connection: Connection, caller: Caller, federation: str, holders: Holders | None = None) -> ClientRow:
    """The party behind a key, judged in the transaction of the effect.

    Args:
        connection: that transaction.
        caller: who signed.
        federation: to which the party has to belong.
        holders: of this transaction, this caller's among them; by default the party is read.

    Raises:
        Unauthenticated: nobody holds this key.
        Forbidden: its holder is revoked, has another key by now, or belongs to another federation or to none.
    """
    row = clients.read_key_holder(connection, caller.key_id) if holders is None else holders.get(caller.key_id)
    if row is None:
        if staff.read_key_holder(connection, caller.key_id) is not None:
            raise Forbidden("this route is for the parties of a federation, not for operators and auditors")
        raise _stranger(connection, caller)
    _check_current(row.client, row.revoked_at)
    if row.federation != federation:
        raise Forbidden(f"{row.client} belongs to federation {row.federation}, not to {federation}")
    return row


def authorise_client(
    connection: Connection, caller: Caller, federation: str, holders: Holders | None = None
) -> ClientRow:
    """As `authorise`, for what readers may not do.

    Raises:
        Unauthenticated, Forbidden: see `authorise`; or its holder is a reader.
    """
    row = authorise(connection, caller, federation, holders)
    if row.role != "client":
        raise Forbidden(f"{row.client} is a {row.role}: it takes part in no round")
    return row


def authorise_staff(connection: Connection, caller: Caller, *roles: StaffRole, lock: bool = False) -> StaffRow:
    """The operator or auditor behind a key.

    Args:
        connection: the transaction of the effect.
        caller: who signed.
        roles: those that may.
        lock: for effects: a revocation waits until this transaction ends, or comes first.

    Raises:
        Unauthenticated: nobody holds this key.
        Forbidden: its holder is revoked, has another key by now, or another role.
    """
    row = staff.read_key_holder(connection, caller.key_id, lock=lock)
    if row is None:
        if (party := clients.read_key_holder(connection, caller.key_id)) is not None:
            raise Forbidden(f"{party.client} is a {party.role} of {party.federation}: this route is for {_or(roles)}")
        raise _stranger(connection, caller)
    _check_current(row.name, row.revoked_at)
    if row.role not in roles:
        raise Forbidden(f"{row.name} is an {row.role}: this route is for {_or(roles)}")
    return row


def authorise_anybody(connection: Connection, caller: Caller) -> None:
    """Check that the caller is enrolled here, in whatever role.

    Raises:
        Unauthenticated: nobody holds this key.
        Forbidden: its holder is revoked or has another key by now.
    """
    if (row := clients.read_key_holder(connection, caller.key_id)) is not None:
        _check_current(row.client, row.revoked_at)
    else:
        authorise_staff(connection, caller, "operator", "auditor")


def find_key(context: Context, key_id: str) -> bytes | None:
    """The public key of that id, revoked, replaced or not: its holder is told so."""
    with context.database.read() as connection:
        # One query for nearly everybody: each look is taken only where the one before found nobody.
        row = (
            clients.read_key_holder(connection, key_id)
            or staff.read_key_holder(connection, key_id)
            or retired_keys.read(connection, key_id)
        )
    return None if row is None else row.identity_key


def _check_current(name: str, revoked_at: datetime | None) -> None:
    if revoked_at is not None:
        raise Forbidden(f"{name} was revoked at {timestamp(revoked_at)}")


def _stranger(connection: Connection, caller: Caller) -> Unauthenticated | Forbidden:
    replaced = retired_keys.read(connection, caller.key_id)
    if replaced is not None:
        return Forbidden(
            f"{replaced.holder} replaced this key at {timestamp(replaced.retired_at)}: sign with the new one"
        )
    return Unauthenticated("the signature does not hold")


def _or(roles: tuple[StaffRole, ...]) -> str:
    return " and ".join(f"{role}s" for role in roles)
