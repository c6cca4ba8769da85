"""Operators and auditors: their tickets, enrolment and revocation."""

import hmac
from datetime import timedelta

from aggregator.service.admission import authorise_staff
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.rotation import check_unused
from aggregator.storage import clients, installation, staff
from aggregator.storage.staff import StaffRow, StaffTicketRow
from fgpr import signatures
from fgpr.errors import Conflict, Forbidden, Unauthenticated, UnknownResource
from fgpr.message import timestamp
from fgpr.staff import StaffEnrolment, StaffReceipt, StaffRole, StaffTicket
from fgpr.ticket import SECRET_BYTES, secret_hash

TICKET_LIFE = timedelta(days=1)


def invite(context: Context, name: str, role: StaffRole, life: timedelta = TICKET_LIFE) -> StaffTicket:
    """Make a ticket for an operator or auditor; only its hash is kept. No route leads here.

    Raises:
        Conflict: the name is enrolled already.
    """
    expires = context.clock() + life
    with context.database.write() as connection:
        if staff.read(connection, name) is not None:
            raise Conflict(f"{name} is enrolled already; a name belongs to one person for good")
        ticket = StaffTicket(
            origin=context.origin,
            name=name,
            role=role,
            secret=context.random_bytes(SECRET_BYTES),
            expires=timestamp(expires),
            service_key=context.service_public(),
            epoch=installation.read_epoch(connection),
        )
        staff.add_ticket(connection, StaffTicketRow(secret_hash(ticket.secret), name, role, expires, None))
    return ticket


def enrol(context: Context, caller: Caller, request: StaffEnrolment) -> StaffReceipt:
    """Take up such a ticket; the same ticket from the same key gets the same answer again.

    Raises:
        Unauthenticated: no such ticket, or it has expired.
        Conflict: another key took it up, or the name or key is enrolled already.
        Forbidden: the holder was revoked since.
        CryptographicError: the key is one by which anybody could sign.
    """
    # HTTP signatures are verified by the equation alone, which holds for such a key whatever was sent.
    signatures.check_key(caller.public_key)
    with context.database.write() as connection:
        ticket = staff.read_ticket(connection, secret_hash(request.secret))
        if ticket is None or ticket.name != request.name:
            raise Unauthenticated("there is no such ticket for this name")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        receipt = StaffReceipt(name=ticket.name, role=ticket.role, key_id=caller.key_id)
        if ticket.used_by is not None:
            if not hmac.compare_digest(ticket.used_by, caller.public_key):
                raise Conflict("another key took up this ticket; ask for a new one and report this if it was not you")
            authorise_staff(connection, caller, ticket.role)
            return receipt
        if ticket.expires_at <= context.clock():
            raise Unauthenticated(f"this ticket expired at {timestamp(ticket.expires_at)}; ask for another")
        check_unused(connection, caller.public_key, ticket.name)
        if not staff.take_ticket(connection, ticket.secret_hash, caller.public_key):
            raise Conflict("another key took up this ticket")
        key_id = signatures.key_id(caller.public_key)
        staff.add(connection, StaffRow(ticket.name, ticket.role, caller.public_key, key_id, context.clock(), None))
    return receipt


def leave(context: Context, caller: Caller, name: str) -> None:
    """An operator or auditor revokes its own key.

    Raises:
        Unauthenticated, Forbidden: the caller is not that person, or is revoked already.
    """
    with context.database.write() as connection:
        row = authorise_staff(connection, caller, "operator", "auditor", lock=True)
        if row.name != name:
            raise Forbidden(f"{row.name} can give up its own key only; others are revoked on the aggregator's machine")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        staff.revoke(connection, name, context.clock())


def revoke(context: Context, name: str) -> None:
    """Revoke an operator or auditor at once; no route leads here.

    Raises:
        UnknownResource: there is none of that name.
        Conflict: that was done before.
    """
    with context.database.write() as connection:
        row = staff.read(connection, name)
        if row is None:
            raise UnknownResource(f"there is no operator or auditor {name}")
        if not staff.revoke(connection, name, context.clock()):
            raise Conflict(f"{name} is revoked already")


def listing(context: Context) -> list[StaffRow]:
    """Every operator and auditor, revoked ones included."""
    with context.database.read() as connection:
        return staff.read_all(connection)
