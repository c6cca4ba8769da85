"""Tickets, enrolment, leaving and revocation."""

import hmac
from datetime import timedelta

from aggregator.service import audit, opening_keys
from aggregator.service.admission import authorise
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.rotation import check_unused
from aggregator.storage import clients, federations, installation, rounds
from aggregator.storage.clients import ClientRow, TicketRow
from aggregator.storage.engine import Connection
from aggregator.storage.federations import FederationRow
from fgpr import signatures
from fgpr.auditlog.entries import Enrolled, Revoked, TicketIssued
from fgpr.errors import Conflict, EncodingError, Forbidden, Unauthenticated, UnknownResource
from fgpr.message import timestamp
from fgpr.rest import EnrolmentReceipt, EnrolmentRequest
from fgpr.secagg import envelope
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.suites import SuiteName
from fgpr.ticket import SECRET_BYTES, Role, Ticket, secret_hash

TICKET_LIFE = timedelta(days=7)


def invite(context: Context, federation: str, client: str, role: Role, life: timedelta = TICKET_LIFE) -> Ticket:
    """Make a ticket for a party; only its hash is kept.

    Raises:
        UnknownResource: there is no such federation.
        Conflict: the party is enrolled already, or the federation is closed.
    """
    with context.database.write() as connection:
        return invite_in(context, connection, federation, client, role, life)


def invite_in(
    context: Context,
    connection: Connection,
    federation: str,
    client: str,
    role: Role,
    life: timedelta,
    issuer: str | None = None,
) -> Ticket:
    """As `invite`, in the caller's transaction; `issuer` is the operator who asked for it by REST."""
    now = context.clock()
    row = federations.read(connection, federation)
    _check_open(row)
    if clients.read_client(connection, federation, client) is not None:
        raise Conflict(f"{client} is enrolled in {federation} already; a party keeps its id for good")
    ticket = Ticket(
        origin=context.origin,
        federation=federation,
        client=client,
        role=role,
        secret=context.random_bytes(SECRET_BYTES),
        expires=timestamp(now + life),
        service_key=context.service_public(),
        roster_key=row.roster_key,
        suite=row.settings.aggregation.suite,
        weight_cap=_asked(row.settings.aggregation, role),
        epoch=installation.read_epoch(connection),
        witnesses=row.settings.witnesses,
    )
    stored = TicketRow(secret_hash(ticket.secret), federation, client, role, now + life, None, issuer, now)
    clients.add_ticket(connection, stored)
    leaf = TicketIssued(
        federation=federation,
        client=client,
        role=role,
        ticket=stored.secret_hash,
        expires=ticket.expires,
        by=issuer,
    )
    audit.record(context, connection, [leaf])
    return ticket


def enrol(context: Context, caller: Caller, request: EnrolmentRequest) -> EnrolmentReceipt:
    """Take up a ticket; the same ticket from the same key gets the first answer again.

    Raises:
        Unauthenticated: no such ticket, or it has expired.
        Conflict: another key took it up, or the party or key is enrolled already.
        EncodingError: a client without an opening key, or a reader with one; a declared weight where none is asked
            for, none where one is, or one above the cap.
        VerificationError: the opening key or the declared weight is not signed by the identity key.
        CryptographicError: the identity key is one by which anybody could sign.
    """
    # HTTP signatures are verified by the equation alone, which holds for such a key whatever was sent.
    signatures.check_key(caller.public_key)
    with context.database.write() as connection:
        ticket = clients.read_ticket(connection, secret_hash(request.secret), lock=True)
        if ticket is None or (ticket.federation, ticket.client) != (request.federation, request.client):
            raise Unauthenticated("there is no such ticket for this party")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        if ticket.used_by is not None:
            return _first_answer(connection, ticket, caller)
        if ticket.expires_at <= context.clock():
            raise Unauthenticated(f"this ticket expired at {timestamp(ticket.expires_at)}; ask for another")
        # Locked: revocations, key changes and enrolments of one federation come one after another.
        row = federations.read(connection, ticket.federation, lock=True)
        _check_open(row)
        rules = row.settings.aggregation
        _check_opening_key(request, ticket.role, rules.suite)
        _check_declared(request, _asked(rules, ticket.role))
        check_unused(connection, caller.public_key, ticket.client)
        if not clients.take_ticket(connection, ticket.secret_hash, caller.public_key):
            raise Conflict("another key took up this ticket")
        receipt = _receipt(connection, ticket, caller)
        declared = None if request.declared is None else request.declared.encode()
        party = ClientRow(
            ticket.federation, ticket.client, ticket.role, caller.public_key, None, receipt.encode(), declared
        )
        clients.add_client(connection, party, caller.key_id, context.clock())
        leaf = Enrolled(
            federation=ticket.federation,
            client=ticket.client,
            role=receipt.role,
            ticket=ticket.secret_hash,
            identity_key=caller.public_key,
            declared=request.declared,
        )
        audit.record(context, connection, [leaf])
        if request.opening_key is not None:
            opening_keys.register(context, connection, request.opening_key)
            federations.mark_roster(connection, ticket.federation, stale=True)
    return receipt


def leave(context: Context, caller: Caller, federation: str, client: str) -> None:
    """A client revokes itself; asked again, since the answer was lost, nothing more happens.

    Raises:
        Forbidden: it asks for another client's.
        Unauthenticated: nobody holds the key, or the request was used before.
    """
    with context.database.write() as connection:
        # The federation first, as everybody does: two writers that lock in another order could wait for each other.
        federations.read(connection, federation, lock=True)
        known = clients.read_key_holder(connection, caller.key_id)
        if (
            known is not None
            and known.revoked_at is not None
            and (known.federation, known.client) == (federation, client)
        ):
            clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
            return
        row = authorise(connection, caller, federation)
        if row.client != client:
            raise Forbidden(f"{row.client} can leave for itself only, not for {client}")
        clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
        _revoke(context, connection, row, by_client=True)
    context.bell.ring()


def revoke(context: Context, federation: str, client: str) -> None:
    """The operator revokes a client.

    Raises:
        UnknownResource: there is no such federation or client.
        Conflict: it was revoked before.
    """
    with context.database.write() as connection:
        revoke_in(context, connection, federation, client)
    context.bell.ring()


def revoke_in(context: Context, connection: Connection, federation: str, client: str) -> None:
    """As `revoke`, in the caller's transaction."""
    federations.read(connection, federation, lock=True)
    row = clients.read_client(connection, federation, client)
    if row is None:
        raise UnknownResource(f"federation {federation} has no client {client}")
    if row.revoked_at is not None:
        raise Conflict(f"{client} was revoked at {timestamp(row.revoked_at)}")
    _revoke(context, connection, row, by_client=False)


def _revoke(context: Context, connection: Connection, row: ClientRow, *, by_client: bool) -> None:
    if not clients.revoke(connection, row.federation, row.client, context.clock()):
        return
    if row.role == "client":
        federations.mark_roster(connection, row.federation, stale=True)
    leaf = Revoked(federation=row.federation, client=row.client, by="client" if by_client else "operator")
    audit.record(context, connection, [leaf])


def _check_open(row: FederationRow) -> None:
    if row.state == "closed":
        raise Conflict(f"federation {row.settings.name} is closed: nobody is admitted any more")


def _first_answer(connection: Connection, ticket: TicketRow, caller: Caller) -> EnrolmentReceipt:
    if not hmac.compare_digest(ticket.used_by or b"", caller.public_key):
        raise Conflict("another key took up this ticket; ask for a new one and report this if it was not you")
    row = clients.read_key_holder(connection, caller.key_id)
    if row is None:
        raise Forbidden(f"{ticket.client} replaced this key since: sign with the new one")
    return EnrolmentReceipt.decode(row.receipt)


def _check_opening_key(request: EnrolmentRequest, role: str, suite: SuiteName) -> None:
    key = request.opening_key
    if (key is None) != (role == "reader"):
        raise EncodingError("a client enrols with its first opening key, a reader without one")
    if key is not None:
        named = (key.message.federation, key.message.client, key.message.serial)
        if named != (request.federation, request.client, 1):
            raise EncodingError("the first opening key names this federation and client and has serial 1")
        key.verify(request.identity_key)
        if key.message.suite != suite:
            raise EncodingError(f"the opening key is of suite {key.message.suite}, this federation's is {suite}")
        envelope.check_key(key.message.key, suite)


def _asked(rules: AggregationRules, role: str) -> int | None:
    """The cap of the weight that a party has to declare; None where it declares none."""
    return rules.weight_cap if rules.draw == "weights" and role == "client" else None


def _check_declared(request: EnrolmentRequest, cap: int | None) -> None:
    signed = request.declared
    if (signed is None) != (cap is None):
        raise EncodingError(
            "a client of a federation that draws by weight enrols with the weight that it declares, others without"
        )
    if signed is not None and cap is not None:
        declared = signed.message
        if (declared.federation, declared.client) != (request.federation, request.client):
            raise EncodingError("the declared weight names this federation and client")
        if declared.weight > cap:
            raise EncodingError(f"the declared weight is {declared.weight}; this federation caps it at {cap}")
        signed.verify(request.identity_key)


def _receipt(connection: Connection, ticket: TicketRow, caller: Caller) -> EnrolmentReceipt:
    last = rounds.read_last(connection, ticket.federation)
    prior, _ = federations.read_prior(connection, ticket.federation)
    return EnrolmentReceipt(
        federation=ticket.federation,
        client=ticket.client,
        role="reader" if ticket.role == "reader" else "client",
        key_id=signatures.key_id(caller.public_key),
        round=0 if last is None else last.number,
        prior_version=prior.message.version,
    )
