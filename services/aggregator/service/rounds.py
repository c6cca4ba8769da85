"""What clients do in a round: contribute, fetch the cohort, open."""

import hashlib
from dataclasses import dataclass

from aggregator.service import opening_keys
from aggregator.service.admission import authorise_client
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients, complaints, contributions, federations, retired_keys, rounds
from aggregator.storage.clients import ClientRow
from aggregator.storage.contributions import ContributionRow
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow, RoundState
from fgpr import canonical
from fgpr.errors import Conflict, Forbidden, QuotaExceeded, TooLate, UnknownResource
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg import opening
from fgpr.secagg.messages import Cohort, Contribution, Opening, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage
from fgpr.secagg.witnessing import check_cosignatures


@dataclass(frozen=True)
class Taken:
    """What came of a body.

    Attributes:
        receipt: the answer.
        due: whether the round may have to move now.
    """

    receipt: Receipt
    due: bool


def contribute(context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes) -> Taken:
    """Store a client's one contribution; the same body again gets the same answer.

    Raises:
        TooLate: the round takes no more; nothing was stored.
        Conflict: another body of this client is stored.
        RemoteProtocolError, VerificationError, EncodingError: the body does not hold.
    """
    digest = hashlib.sha256(body).digest()
    checked = _checked(context, caller, federation, number, client, body)
    with context.database.write() as connection:
        begin(context, connection, caller, federation, client)
        receipt = Receipt(federation=federation, round=number, client=client, body=digest, counted=True)
        known = contributions.read_body_digest(connection, federation, number, client)
        if known is not None:
            if known != digest:
                raise Conflict(f"{client} contributed another body to round {number}; the first one stands")
            return Taken(receipt, due=True)
        now = rounds.read_state(connection, federation, number)
        if checked is None or not _takes_contributions(context, now):
            raise too_late(connection, rounds.read(connection, federation, number), "contributions")
        contributions.add(connection, federation, number, checked.contribution)
        return Taken(receipt, due=may_be_full(connection, checked.plan))


def may_be_full(connection: Connection, plan: Plan) -> bool:
    """Whether as many contributions are in as there can be: with more than those of whom the roster cannot speak.

    Asked after each one and true after the last one, so that nothing but numbers is compared.
    """
    gone = clients.count_revoked(connection, plan.federation) + retired_keys.count_all(connection, plan.federation)
    return contributions.count(connection, plan.federation, plan.round) + gone >= len(plan.invited)


@dataclass(frozen=True)
class _Checked:
    """A contribution that holds, with what it was checked against."""

    plan: Plan
    contribution: ContributionRow


def _checked(
    context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes
) -> _Checked | None:
    """A contribution read and verified, before the writing transaction, which only judges what can have changed since.

    Plan and roster of a round never change, nor does the key behind a key id. None where nothing is to be verified: the
    round takes no more, or this client's contribution is stored.
    """
    with context.database.read() as connection:
        sender = _sender(connection, caller, federation, client)
        now = rounds.read_state(connection, federation, number)
        known = contributions.read_body_digest(connection, federation, number, client)
        if known is not None or not _takes_contributions(context, now):
            return None
        row = rounds.read(connection, federation, number)
        roster = roster_of(connection, row)
        check_key(roster, sender, number)
    contribution = Contribution.decode(body)
    if contribution.header.message.client != client:
        raise Forbidden(f"{client} cannot contribute for {contribution.header.message.client}")
    plan = row.plan.message
    opening.check_contribution(plan, plan.digest(), roster, contribution)
    made = ContributionRow(
        client=client,
        body_digest=hashlib.sha256(body).digest(),
        header=contribution.header,
        masked=contribution.masked,
        # As `canonical.encode` writes a list of base64, which has nothing to escape.
        boxes=b'["' + '","'.join(map(canonical.to_text, contribution.boxes)).encode("ascii") + b'"]',
    )
    return _Checked(plan, made)


def _takes_contributions(context: Context, now: RoundState) -> bool:
    return now.stage is Stage.CONTRIBUTING and context.clock() < now.contribute_until


def cohort(context: Context, caller: Caller, federation: str, number: int) -> bytes:
    """The cohort of a round as the calling member gets it, with its own box of each contribution; JSON.

    Raises:
        UnknownResource: the round is not closed.
        Forbidden: the caller has no seat.
        TooLate: the round has ended, and the boxes are erased.
    """
    with context.database.read() as connection:
        member = authorise_client(connection, caller, federation)
        row = rounds.read(connection, federation, number)
        seat = row.plan.message.seat_of(member.client)
        if seat is None:
            raise Forbidden(f"{member.client} has no seat in round {number}")
        if row.cohort is None:
            raise UnknownResource(f"round {number} has no cohort: it is in stage {row.stage.value}")
        if row.stage is not Stage.OPENING:
            raise too_late(connection, row, "openings")
        return context.boxed.view(row.cohort, seat, lambda: contributions.read_all(connection, federation, number))


def answer(context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes) -> Taken:
    """Store a member's opening, of the cohort or, after an abort, of the empty one.

    An opening that is no longer needed is acknowledged, and its next key taken.

    Raises:
        Conflict: another opening of this member is stored, or it complained of this cohort.
        TooLate: the round does not take openings yet or any more.
        RemoteProtocolError, VerificationError, EncodingError: the body does not hold.
    """
    check_sender(context, caller, federation, client)
    digest, signed = hashlib.sha256(body).digest(), Signed[Opening].decode(body)
    with context.database.write() as connection:
        row, member = enter(context, connection, caller, federation, number, client)
        if signed.message.client != member.client:
            raise Forbidden(f"{member.client} cannot open for {signed.message.client}")
        target = _target(row, signed.message.cohort)
        if target is None:
            raise too_late(connection, row, "openings of that cohort")
        known = rounds.read_opening(connection, federation, number, client)
        roster = roster_of(connection, row)
        if known is None:
            check_key(roster, member, number)
        counted = (row.stage is Stage.OPENING and bool(target.members)) or (
            row.stage is Stage.ABORTED and not target.members
        )
        if counted:
            opening.check_opening(row.plan.message, roster, target, signed)
            check_cosignatures(roster, target, [(client, signed.message.cosignature)], context.service_public())
        else:
            # The sum is not needed any more; the key is all that is taken.
            opening.check_next_key(row.plan.message, roster, client, signed.message.next_key)
        if target.members and client in complaints.members(connection, federation, number):
            raise Conflict(f"{client} complained of boxes of round {number}, which it cannot have opened, then")
        if known is not None and known != signed:
            raise Conflict(f"{client} opened round {number} with another body; the first one stands")
        if known is None:
            opening_keys.register(context, connection, signed.message.next_key)
            if counted:
                rounds.add_opening(connection, signed)
            else:
                _check_quota(connection, row, client)
        receipt = Receipt(
            federation=federation, round=number, client=client, body=digest, counted=counted or known is not None
        )
        enough = rounds.count_openings(connection, federation, number) >= row.plan.message.threshold
        return Taken(receipt, due=counted and enough)


def roster_of(connection: Connection, row: RoundRow) -> Roster:
    """The roster that a round's plan names."""
    roster = federations.read_roster(connection, row.federation, row.plan.message.roster_version)
    if roster is None:
        raise UnknownResource(f"roster {row.plan.message.roster_version} of {row.federation} is gone")
    return roster.message


def check_key(roster: Roster, sender: ClientRow, number: int) -> None:
    """Check that the roster of a round names the key that the client has now.

    Raises:
        Conflict: it was replaced since; what the old key signs is not taken any more.
    """
    entry = roster.entry(sender.client)
    if entry is not None and entry.identity_key != sender.identity_key:
        raise Conflict(
            f"{sender.client} replaced the key that the roster of round {number} names: it takes part again "
            "from the first round whose roster names the new one"
        )


def _check_quota(connection: Connection, row: RoundRow, client: str) -> None:
    # A late opening is kept for its key alone. Enrolment, each round and each replaced identity key bring one.
    newest = rounds.read_last(connection, row.federation) or row
    allowed = 1 + newest.number + retired_keys.count(connection, row.federation, client)
    if clients.count_opening_keys(connection, row.federation, client) > allowed:
        raise QuotaExceeded(
            f"{client} has sent {allowed} opening keys by round {newest.number}, the most that one may", limit=allowed
        )


def check_sender(context: Context, caller: Caller, federation: str, client: str) -> None:
    """Check that the caller may act for this client, before its body is looked at.

    Raises:
        Unauthenticated, Forbidden: it may not.
    """
    with context.database.read() as connection:
        _sender(connection, caller, federation, client)


def enter(
    context: Context, connection: Connection, caller: Caller, federation: str, number: int, client: str
) -> tuple[RoundRow, ClientRow]:
    """The round and the client of a request that has an effect: the federation is locked, the nonce spent.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
        UnknownResource: there is no such round.
    """
    sender = begin(context, connection, caller, federation, client)
    return rounds.read(connection, federation, number), sender


def begin(context: Context, connection: Connection, caller: Caller, federation: str, client: str) -> ClientRow:
    """The client of a request that has an effect: the federation is locked, the nonce spent.

    Raises:
        Unauthenticated, Forbidden: the caller may not act for this client.
    """
    federations.lock(connection, federation)
    sender = _sender(connection, caller, federation, client)
    clients.spend_nonce(connection, caller.key_id, caller.nonce, caller.nonce_expires)
    clients.forget_nonces(connection, context.clock())
    return sender


def _sender(connection: Connection, caller: Caller, federation: str, client: str) -> ClientRow:
    sender = authorise_client(connection, caller, federation)
    if sender.client != client:
        raise Forbidden(f"{sender.client} cannot act for {client}")
    return sender


def _target(row: RoundRow, digest: bytes) -> Cohort | None:
    for signed in (row.cohort, row.empty_cohort):
        if signed is not None and signed.message.digest() == digest:
            return signed.message
    return None


def too_late(connection: Connection, row: RoundRow, what: str) -> TooLate:
    """The refusal of what a round takes no more, with the present round."""
    last = rounds.read_last(connection, row.federation)
    current = row.number if last is None else last.number
    return TooLate(
        f"round {row.number} is in stage {row.stage.value} and takes no {what}; nothing was stored. "
        f"The present round is {current}",
        current_round=current,
        stage=row.stage.value,
    )
