"""Openings: members' answers to a cohort, many of them stored by one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.service import opening_keys
from aggregator.service.admission import holders_of
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.rounds import admit, begin_all, check_key, roster_of, sender_of, too_late
from aggregator.service.sent_bodies import Sent, Taken, only, stored, tried
from aggregator.storage import clients, complaints, retired_keys, rounds
from aggregator.storage.clients import ClientRow
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow
from fgpr.errors import Conflict, Forbidden, QuotaExceeded
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg import opening
from fgpr.secagg.messages import Cohort, Opening, OpeningKey
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage
from fgpr.secagg.witnessing import check_cosignatures


def answer(context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes) -> Taken:
    """Store a member's opening, of the cohort or, after an abort, of the empty one.

    An opening that is no longer needed is acknowledged, and its next key taken.

    Raises:
        Conflict: another opening of this member is stored, or it complained of this cohort.
        TooLate: the round does not take openings yet or any more.
        RemoteProtocolError, VerificationError, EncodingError: the body does not hold.
    """
    return only(answer_all(context, [Sent(caller, client, body)], federation, number))


def answer_all(context: Context, sent: Sequence[Sent], federation: str, number: int) -> Sequence[Taken | Exception]:
    """The same for many bodies; gives in order what came of each, or its refusal.

    Raises:
        Unavailable: the database does not answer.
    """
    with context.database.read() as connection:
        holders = holders_of(connection, [one.caller for one in sent])
        # Who may not send one is told so before its body is looked at.
        senders = tried(lambda one: sender_of(connection, one.caller, federation, one.client, holders), sent)
    pairs = [sender if isinstance(sender, Exception) else one for sender, one in zip(senders, sent, strict=True)]
    opened = tried(lambda one: (one, Signed[Opening].decode(one.body)), pairs)
    return stored(partial(_store, context, federation, number), opened)


@dataclass(frozen=True)
class _Found:
    """What openings are judged by, as the transaction sees it that stores them.

    Attributes:
        row: their round.
        roster: of the round.
        complained: members that complained of its cohort.
        service_key: the aggregator's public key, 32 bytes.
        known: the openings of these members that are stored.
    """

    row: RoundRow
    roster: Roster
    complained: set[str]
    service_key: bytes
    known: dict[str, Signed[Opening]]


def _store(
    context: Context, federation: str, number: int, opened: Sequence[tuple[Sent, Signed[Opening]]]
) -> Sequence[Taken]:
    """Store openings in one transaction, each judged as if it came alone, in the order in which they came."""
    receipts: list[tuple[Receipt, bool]] = []
    keys: list[Signed[OpeningKey]] = []
    late: list[str] = []
    with context.database.write() as connection:
        holders = begin_all(context, connection, [sent.caller for sent, _ in opened], federation)
        found = _find(context, connection, federation, number, {sent.client for sent, _ in opened})
        for sent, signed in opened:
            member = admit(connection, sent.caller, federation, sent.client, holders)
            known = found.known.get(sent.client)
            counted = _judge(connection, found, member, signed)
            if known is None:
                keys.append(signed.message.next_key)
                if counted:
                    rounds.add_opening(connection, signed)
                    found.known[sent.client] = signed
                else:
                    late.append(sent.client)
            receipt = Receipt(
                federation=federation,
                round=number,
                client=sent.client,
                body=sent.digest,
                counted=counted or known is not None,
            )
            receipts.append((receipt, counted))
        opening_keys.register(context, connection, *keys)
        for client in late:
            _check_quota(connection, found.row, client)
        enough = rounds.count_openings(connection, federation, number) >= found.row.plan.message.threshold
    return [Taken(receipt, due=counted and enough) for receipt, counted in receipts]


def _find(context: Context, connection: Connection, federation: str, number: int, members: set[str]) -> _Found:
    row = rounds.read(connection, federation, number)
    return _Found(
        row,
        roster_of(connection, row),
        complaints.members(connection, federation, number),
        context.service_public(),
        rounds.read_openings_of(connection, federation, number, members),
    )


def _judge(connection: Connection, found: _Found, member: ClientRow, signed: Signed[Opening]) -> bool:
    """Whether an opening counts; raises where it may not stand."""
    row, roster, client, number = found.row, found.roster, member.client, found.row.number
    if signed.message.client != client:
        raise Forbidden(f"{client} cannot open for {signed.message.client}")
    target = _target(row, signed.message.cohort)
    if target is None:
        raise too_late(connection, row, "openings of that cohort")
    known = found.known.get(client)
    if known is None:
        check_key(roster, member, number)
    counted = (row.stage is Stage.OPENING and bool(target.members)) or (
        row.stage is Stage.ABORTED and not target.members
    )
    if counted:
        opening.check_opening(row.plan.message, roster, target, signed)
        check_cosignatures(roster, target, [(client, signed.message.cosignature)], found.service_key)
    else:
        # The sum is not needed any more; the key is all that is taken.
        opening.check_next_key(row.plan.message, roster, client, signed.message.next_key)
    if target.members and client in found.complained:
        raise Conflict(f"{client} complained of boxes of round {number}, which it cannot have opened, then")
    if known is not None and known != signed:
        raise Conflict(f"{client} opened round {number} with another body; the first one stands")
    return counted


def _target(row: RoundRow, digest: bytes) -> Cohort | None:
    for signed in (row.cohort, row.empty_cohort):
        if signed is not None and signed.message.digest() == digest:
            return signed.message
    return None


def _check_quota(connection: Connection, row: RoundRow, client: str) -> None:
    # A late opening is kept for its key alone. Enrolment, each round and each replaced identity key bring one.
    newest = rounds.read_last(connection, row.federation) or row
    allowed = 1 + newest.number + retired_keys.count(connection, row.federation, client)
    if clients.count_opening_keys(connection, row.federation, client) > allowed:
        raise QuotaExceeded(
            f"{client} has sent {allowed} opening keys by round {newest.number}, the most that one may", limit=allowed
        )
