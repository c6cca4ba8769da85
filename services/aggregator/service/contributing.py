"""Contributions: verified before the transaction that stores them, and many stored by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aggregator.service.admission import Holders, holders_of
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.rounds import admit, begin_all, check_key, may_be_full, roster_of, sender_of, too_late
from aggregator.service.sent_bodies import Sent, Taken, only, stored, tried
from aggregator.service.together import judged
from aggregator.storage import contributions, rounds
from aggregator.storage.contributions import ContributionRow
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow, RoundState
from fgpr import canonical
from fgpr.errors import Conflict, Forbidden
from fgpr.rest import Receipt
from fgpr.secagg import opening
from fgpr.secagg.messages import Contribution
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage


def contribute(context: Context, caller: Caller, federation: str, number: int, client: str, body: bytes) -> Taken:
    """Store a client's one contribution; the same body again gets the same answer.

    Raises:
        TooLate: the round takes no more; nothing was stored.
        Conflict: another body of this client is stored.
        RemoteProtocolError, VerificationError, EncodingError: the body does not hold.
    """
    return only(contribute_all(context, [Sent(caller, client, body)], federation, number))


def contribute_all(context: Context, sent: Sequence[Sent], federation: str, number: int) -> Sequence[Taken | Exception]:
    """The same for many bodies; gives in order what came of each, or its refusal.

    Raises:
        Unavailable: the database does not answer.
    """
    checked = _checked_all(context, sent, federation, number)
    return stored(partial(_store, context, federation, number), checked)


@dataclass(frozen=True)
class _Found:
    """A round, its roster, whose keys speak, and the digests of those contributions in question that are in."""

    row: RoundRow
    roster: Roster
    holders: Holders
    known: dict[str, bytes]


@dataclass(frozen=True)
class _Checked:
    """A body, the round that it is for, and what is to be stored.

    Nothing where the round takes no more or this client's contribution is in: then nothing is to be verified.
    """

    sent: Sent
    row: RoundRow
    contribution: ContributionRow | None


def _checked_all(
    context: Context, sent: Sequence[Sent], federation: str, number: int
) -> Sequence[_Checked | Exception]:
    """Contributions read and verified, before the writing transaction, which only judges what can have changed since.

    Plan and roster of a round never change, nor does the key behind a key id.
    """
    with context.database.read() as connection:
        holders = holders_of(connection, [one.caller for one in sent])
        looks = judged(
            lambda one: sender_of(connection, one.caller, federation, one.client, holders),
            sent,
            partial(_find, connection, federation, number, sent, holders),
        )
    pairs = [look if isinstance(look, Exception) else (look, one) for look, one in zip(looks, sent, strict=True)]
    return tried(lambda pair: _checked(context, *pair), pairs)


def _find(connection: Connection, federation: str, number: int, sent: Sequence[Sent], holders: Holders) -> _Found:
    row = rounds.read(connection, federation, number)
    known = contributions.read_body_digests(connection, federation, number, {one.client for one in sent})
    return _Found(row, roster_of(connection, row), holders, known)


def _checked(context: Context, found: _Found, sent: Sent) -> _Checked:
    now = RoundState(found.row.stage, found.row.contribute_until)
    if sent.client in found.known or not _takes_contributions(context, now):
        return _Checked(sent, found.row, None)
    plan, number = found.row.plan.message, found.row.number
    sender, roster = found.holders[sent.caller.key_id], found.roster
    check_key(roster, sender, number)
    contribution = Contribution.decode(sent.body)
    if contribution.header.message.client != sent.client:
        raise Forbidden(f"{sent.client} cannot contribute for {contribution.header.message.client}")
    opening.check_contribution(plan, plan.digest(), roster, contribution)
    made = ContributionRow(
        client=sent.client,
        body_digest=sent.digest,
        header=contribution.header,
        masked=contribution.masked,
        # As `canonical.encode` writes a list of base64, which has nothing to escape.
        boxes=b'["' + '","'.join(map(canonical.to_text, contribution.boxes)).encode("ascii") + b'"]',
    )
    return _Checked(sent, found.row, made)


def _takes_contributions(context: Context, now: RoundState) -> bool:
    return now.stage is Stage.CONTRIBUTING and context.clock() < now.contribute_until


def _store(context: Context, federation: str, number: int, checked: Sequence[_Checked]) -> Sequence[Taken]:
    """Store contributions in one transaction, each judged as if it came alone, in the order in which they came."""
    with context.database.write() as connection:
        holders = begin_all(context, connection, [one.sent.caller for one in checked], federation)
        named = {one.sent.client for one in checked}
        known = contributions.read_body_digests(connection, federation, number, named)
        now = rounds.read_state(connection, federation, number)
        repeated = False
        for one in checked:
            sent = one.sent
            admit(connection, sent.caller, federation, sent.client, holders)
            digest = known.get(sent.client)
            if digest is not None:
                if digest != sent.digest:
                    raise Conflict(f"{sent.client} contributed another body to round {number}; the first one stands")
                repeated = True
                continue
            if one.contribution is None or not _takes_contributions(context, now):
                raise too_late(connection, rounds.read(connection, federation, number), "contributions")
            contributions.add(connection, federation, number, one.contribution)
            known[sent.client] = sent.digest
        due = repeated or may_be_full(connection, checked[0].row.plan.message)
    return [Taken(_receipt(one.sent, federation, number), due) for one in checked]


def _receipt(sent: Sent, federation: str, number: int) -> Receipt:
    return Receipt(federation=federation, round=number, client=sent.client, body=sent.digest, counted=True)
