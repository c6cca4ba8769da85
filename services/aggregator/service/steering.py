"""What operators do by REST, judged in the transaction of each effect; the command line shares the acts themselves.

Every function takes the caller, who is None for the command line on the aggregator's own machine: whoever may write the
database need not prove more. Bodies are read only once it is settled that the caller may send them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from aggregator.service import audit, enrolment, federations, operator, schedule
from aggregator.service.admission import authorise_staff
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients, rounds
from aggregator.storage import federations as stored
from aggregator.storage.engine import Connection
from fgpr import signatures
from fgpr.auditlog.entries import StateChanged
from fgpr.errors import Conflict, CryptographicError, QuotaExceeded, Unavailable
from fgpr.federated.federation import Federation
from fgpr.message import timestamp
from fgpr.operator_rest import (
    ClientLine,
    ClientList,
    FederationLine,
    FederationList,
    FederationRequest,
    IssuedTicket,
    OpenedRound,
    RoundDetails,
    StateRequest,
    TicketRequest,
)
from fgpr.rest import RoundList
from fgpr.ticket import Ticket

TICKETS_A_DAY = 1_000
"""Most tickets that one operator issues by REST within a day: a stolen key makes no more parties than that."""

_log = structlog.get_logger(__name__)


def list_federations(context: Context, caller: Caller | None) -> FederationList:
    """Every federation and where it stands.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator or auditor.
    """
    with context.database.read() as connection:
        _may_read(connection, caller)
        return FederationList(federations=tuple(_line(connection, name) for name in stored.names(connection)))


def list_clients(context: Context, caller: Caller | None, federation: str) -> ClientList:
    """Every party of a federation.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator or auditor.
        UnknownResource: there is no such federation.
    """
    with context.database.read() as connection:
        _may_read(connection, caller)
        stored.read(connection, federation)
        lines = [
            ClientLine(
                client=row.client,
                role="reader" if row.role == "reader" else "client",
                key_id=signatures.key_id(row.identity_key),
                enrolled_at=timestamp(enrolled_at),
                revoked_at=None if row.revoked_at is None else timestamp(row.revoked_at),
            )
            for row, enrolled_at in clients.read_all(connection, federation)
        ]
    return ClientList(clients=tuple(lines))


def list_rounds(context: Context, caller: Caller, federation: str, limit: int) -> RoundList:
    """The newest rounds.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator or auditor.
        UnknownResource: there is no such federation.
    """
    with context.database.read() as connection:
        _may_read(connection, caller)
    return RoundList(rounds=tuple(operator.list_rounds(context, federation, limit)), next=None)


def show_round(context: Context, caller: Caller, federation: str, number: int) -> RoundDetails:
    """One round.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator or auditor.
        UnknownResource: there is none.
    """
    with context.database.read() as connection:
        _may_read(connection, caller)
    return RoundDetails(details=operator.show_round(context, federation, number))


def create(context: Context, caller: Caller, body: bytes) -> FederationLine:
    """Create a federation.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator.
        EncodingError: an unknown, missing or unsafe setting.
        Conflict: the name is taken.
        Unavailable: no roster key can be made on this machine.
    """
    with context.database.write() as connection:
        _spend(context, connection, caller)
        request = FederationRequest.decode(body)
        settings, public = Federation.from_settings(request.settings), request.roster_key
        # A key that is made for one that another replica created would be a wrong one.
        stored.check_free(connection, settings.name)
        # Made only for a caller who may; a key left behind by a refused creation is taken up by the next one.
        key = _made_key(context, settings.name) if public is None else Ed25519PublicKey.from_public_bytes(public)
        federations.create_in(context, connection, settings, key)
        return _line(connection, settings.name)


def _made_key(context: Context, name: str) -> Ed25519PrivateKey:
    with _own_fault(name):
        return context.keys.ensure_roster(name)


@contextmanager
def _own_fault(federation: str) -> Iterator[None]:
    try:
        yield
    except CryptographicError as error:
        # A fault of this machine, and none of what the operator sent; its paths and users are nobody else's business.
        _log.warning("roster key", federation=federation, reason=str(error))
        raise Unavailable(
            f"the roster key of federation {federation} cannot be used at this replica: its log says why and what to do"
        ) from error


def issue(context: Context, caller: Caller, federation: str, body: bytes) -> IssuedTicket:
    """Make a ticket for a party.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator.
        QuotaExceeded: it issued TICKETS_A_DAY within a day.
        Conflict: the party is enrolled already, or the federation is closed.
    """
    now = context.clock()
    with context.database.write() as connection:
        issuer = _spend(context, connection, caller)
        request = TicketRequest.decode(body)
        if clients.count_issued(connection, issuer, now - timedelta(days=1)) >= TICKETS_A_DAY:
            raise QuotaExceeded(
                f"{issuer} issued {TICKETS_A_DAY} tickets within a day, the most that one may: wait, or use the "
                "command line on the aggregator's machine",
                limit=TICKETS_A_DAY,
            )
        life = timedelta(days=request.days)
        ticket: Ticket = enrolment.invite_in(
            context, connection, federation, request.client, request.role, life, issuer
        )
    return IssuedTicket(ticket=ticket.to_text())


def revoke(context: Context, caller: Caller, federation: str, client: str) -> None:
    """Revoke a party at once.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator.
        UnknownResource: there is no such party.
        Conflict: that was done before.
    """
    with context.database.write() as connection:
        _spend(context, connection, caller)
        enrolment.revoke_in(context, connection, federation, client)
    context.bell.ring()


def open_round(context: Context, caller: Caller, federation: str) -> OpenedRound:
    """Open a round now.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator.
        Conflict: a round is running, or the federation is paused or closed.
        CommitteeError, CapacityError: no safe round exists.
        Unavailable: the roster key cannot be used on this machine.
    """
    with context.database.write() as connection:
        _spend(context, connection, caller)
        with _own_fault(federation):
            number = schedule.open_in(context, connection, federation)
    context.bell.ring()
    return OpenedRound(round=number)


def change_state(context: Context, caller: Caller | None, federation: str, body: bytes) -> FederationLine:
    """Pause, resume, close a federation, or release its carried theta from the old roster; a leaf says why.

    Asked again for the state that it has, nothing happens.

    Raises:
        Unauthenticated, Forbidden: the caller is no operator.
        UnknownResource: there is no such federation.
        Conflict: it is closed, or there is nothing to release.
    """
    with context.database.write() as connection:
        if caller is not None:
            _spend(context, connection, caller)
        request = StateRequest.decode(body)
        row = stored.read(connection, federation, lock=True)
        if request.state == "released":
            changed = _release(connection, row)
        else:
            wanted = "open" if request.state == "resumed" else request.state
            changed = row.state != wanted
            if changed and row.state == "closed":
                raise Conflict(f"federation {federation} is closed, for good: create another")
            stored.set_state(connection, federation, wanted)
        if changed:
            leaf = StateChanged(federation=federation, state=request.state, reason=request.reason)
            audit.record(context, connection, [leaf])
        line = _line(connection, federation)
    context.bell.ring()
    return line


def _release(connection: Connection, row: stored.FederationRow) -> bool:
    name = row.settings.name
    if row.state == "closed":
        raise Conflict(f"federation {name} is closed, for good: create another")
    record = stored.read_prior(connection, name)[0].message
    if not federations.is_carried(record):
        raise Conflict(f"theta of prior {record.version} of {name} was not carried: its next round has a fresh roster")
    stored.release(connection, name, record.version)
    return row.released != record.version


def _line(connection: Connection, name: str) -> FederationLine:
    last = rounds.read_last(connection, name)
    return FederationLine(
        name=name,
        state=stored.read(connection, name).state,
        clients=sum(row.revoked_at is None for row, _ in clients.read_all(connection, name)),
        round=0 if last is None else last.number,
        stage=None if last is None else last.stage.value,
        prior_version=stored.read_prior(connection, name)[0].message.version,
    )


def _may_read(connection: Connection, caller: Caller | None) -> None:
    if caller is not None:
        authorise_staff(connection, caller, "operator", "auditor")


def _spend(context: Context, connection: Connection, caller: Caller) -> str:
    """The operator's name; its nonce is spent."""
    row = authorise_staff(connection, caller, "operator", lock=True)
    clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
    clients.forget_nonces(connection, context.clock())
    return row.name
