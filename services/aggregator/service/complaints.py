"""Complaints of members, and what follows from enough of them: whoever did lie is revoked in the same transaction."""

import hashlib

from aggregator.service import audit
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.rounds import check_key, check_sender, enter, roster_of, too_late
from aggregator.storage import clients, complaints, federations, rounds
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow
from fgpr.auditlog.entries import ComplaintFiled, Convicted
from fgpr.errors import Conflict, Forbidden
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg import complaint
from fgpr.secagg.messages import Complaint


def complain(context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes) -> Receipt:
    """Store a member's complaint of a closed round; one that comes after its end is evidence all the same.

    Raises:
        Conflict: another complaint of this member is stored, or it opened the cohort.
        TooLate: the round has no such cohort.
        RemoteProtocolError, VerificationError, EncodingError: the body does not hold.
    """
    check_sender(context, caller, federation, client)
    # Large bodies: read before the transaction, in which every other writer waits.
    signed = Signed[Complaint].decode(body)
    with context.database.write() as connection:
        row, member = enter(context, connection, caller, federation, number, client)
        if signed.message.client != member.client:
            raise Forbidden(f"{member.client} cannot complain for {signed.message.client}")
        if row.cohort is None or row.cohort.message.digest() != signed.message.cohort:
            raise too_late(connection, row, "complaints of that cohort")
        complaint.check_complaint(row.plan.message, roster_of(connection, row), row.cohort.message, signed)
        receipt = Receipt(
            federation=federation, round=number, client=client, body=hashlib.sha256(body).digest(), counted=True
        )
        known = complaints.read(connection, federation, number).get(client)
        if known is not None:
            if known != signed:
                raise Conflict(f"{client} complained of round {number} with another body; the first one stands")
            return receipt
        check_key(roster_of(connection, row), member, number)
        opened = rounds.read_opening(connection, federation, number, client)
        if opened is not None and opened.message.cohort == signed.message.cohort:
            raise Conflict(f"{client} opened the cohort of round {number}: its boxes did open")
        complaints.add(connection, signed)
        audit.record(context, connection, [ComplaintFiled(federation=federation, complaint=signed)])
        _convict(context, connection, row)
    context.bell.ring()
    return receipt


def convicted(connection: Connection, row: RoundRow) -> tuple[str, ...]:
    """The clients that the complaints of a round convict."""
    filed = [signed.message for signed in complaints.read(connection, row.federation, row.number).values()]
    return complaint.convicted(row.plan.message, roster_of(connection, row), filed) if filed else ()


def _convict(context: Context, connection: Connection, row: RoundRow) -> None:
    for client in convicted(connection, row):
        if clients.revoke(connection, row.federation, client, context.clock()):
            federations.mark_roster(connection, row.federation, stale=True)
            leaf = Convicted(federation=row.federation, client=client, round=row.number)
            audit.record(context, connection, [leaf])
