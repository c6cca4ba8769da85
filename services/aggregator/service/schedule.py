"""Everything that is due: closing overdue stages, settling aborted rounds, opening the next one.

`advance` may be called at any time by any replica, after a contribution, after an opening, or because time passed; each
step is one transaction that first locks the federation and judges what it reads there.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from aggregator.service import audit, publishing
from aggregator.service.complaints import convicted
from aggregator.service.context import Context
from aggregator.service.federations import keeps_roster
from aggregator.service.rosters import current_roster, serving, unheard
from aggregator.service.rounds import may_be_full, roster_of
from aggregator.storage import clients, complaints, contributions, federations, rounds
from aggregator.storage.engine import Connection
from aggregator.storage.federations import FederationRow
from aggregator.storage.rounds import RoundRow
from fgpr.auditlog.entries import RoundPlanned
from fgpr.errors import CommitteeError, Conflict
from fgpr.federated import publication
from fgpr.message import Signed, timestamp
from fgpr.secagg.messages import Plan
from fgpr.secagg.planning import plan_round
from fgpr.secagg.stages import RUNNING, Event, Stage

LONGEST_PAUSE = 3_600.0
"""Seconds at most between rounds to which nobody contributes: whoever comes back waits no longer than that."""

MOST_IDLE = 16
"""Most such rounds that are counted; the pause is at its longest before."""


def names(context: Context) -> list[str]:
    """Every federation's name."""
    with context.database.read() as connection:
        return federations.names(connection)


def advance(context: Context, federation: str) -> None:
    """Do what is due in one federation, transition by transition, until nothing is.

    Raises:
        CommitteeError, CapacityError: the next round is due and no safe one exists for these clients and rules; what
            was due before it is done.
    """
    while _step(context, federation):
        context.bell.ring()
        context.database.note_erasure()
        context.boxed.forget()


def open_by_hand(context: Context, federation: str) -> int:
    """Open a round now, whatever the schedule says; its number.

    Raises:
        Conflict: a round is running, an aborted one is not settled yet, or the federation is paused or closed.
        CommitteeError, CapacityError: no safe round exists for these clients and rules.
    """
    with context.database.write() as connection:
        number = open_in(context, connection, federation)
    context.bell.ring()
    return number


def open_in(context: Context, connection: Connection, federation: str) -> int:
    """As `open_by_hand`, in the caller's transaction."""
    row = federations.read(connection, federation, lock=True)
    last = rounds.read_last(connection, federation)
    if last is not None and (last.stage in RUNNING or _waits(connection, last)):
        raise Conflict(f"round {last.number} is in stage {last.stage.value}; it must end first")
    if row.state != "open":
        raise Conflict(f"federation {federation} is {row.state}: no round opens in it")
    return _open(context, connection, row, last)


def _step(context: Context, federation: str) -> bool:
    # A cheap look first: most calls find nothing due, and readers do not wait for writers.
    with context.database.read() as connection:
        if _due(context, connection, federations.read(connection, federation)) is None:
            return False
    with context.database.write() as connection:
        transition = _due(context, connection, federations.read(connection, federation, lock=True))
        if transition is None:
            return False
        return transition() is not False


def _due(context: Context, connection: Connection, row: FederationRow) -> Callable[[], object] | None:
    """The one transition that is due now, to be made in the same transaction; None where nothing is.

    It gives False where it turns out that the round has to wait after all.
    """
    name, now = row.settings.name, context.clock()
    for aborted in rounds.read_unsettled(connection, name):
        if len(publishing.void_openings(connection, aborted)) >= aborted.plan.message.threshold:
            return partial(publishing.settle_void, context, connection, aborted)
    last = rounds.read_last(connection, name)
    if last is not None and last.stage is Stage.CONTRIBUTING:
        return partial(publishing.close, context, connection, last) if _all_in(connection, last, now) else None
    if last is not None and last.stage is Stage.OPENING:
        return _end_of_opening(context, connection, last, now)
    if last is not None and _waits(connection, last):
        overdue = now >= _void_deadline(row, last)
        return partial(publishing.settle_carried, context, connection, last) if overdue else None
    return partial(_open, context, connection, row, last) if _may_open(connection, row, last, now) else None


def _all_in(connection: Connection, row: RoundRow, now: datetime) -> bool:
    if now >= row.contribute_until:
        return True
    if not may_be_full(connection, row.plan.message):
        return False
    expected = set(row.plan.message.invited) - unheard(connection, roster_of(connection, row))
    return expected <= contributions.contributors(connection, row.federation, row.number)


def _able(connection: Connection, row: RoundRow) -> int:
    """Members that may open, or did: those with a key whose own key still speaks for them and who did not complain."""
    opened = rounds.openers(connection, row.federation, row.number)
    silent = unheard(connection, roster_of(connection, row)) - opened
    silent |= complaints.members(connection, row.federation, row.number)
    return sum(seat.key is not None and seat.client not in silent for seat in row.plan.message.seats)


def _enough(connection: Connection, row: RoundRow) -> bool:
    plan, openings = row.plan.message, rounds.count_openings(connection, row.federation, row.number)
    # Who is able is asked last: the answer compares every client with the roster.
    return openings >= plan.threshold and (
        openings >= plan.threshold + plan.spare or openings >= max(plan.threshold, _able(connection, row))
    )


def _hopeless(connection: Connection, row: RoundRow) -> bool:
    """Whether too few are left that could open, and it is known whose fault that is: waiting serves nobody."""
    return bool(convicted(connection, row)) and _able(connection, row) < row.plan.message.threshold


def _end_of_opening(
    context: Context, connection: Connection, row: RoundRow, now: datetime
) -> Callable[[], object] | None:
    hopeless = _hopeless(connection, row)
    overdue = now >= row.open_until
    if not (overdue or hopeless or _enough(connection, row)):
        return None
    openings, needed = rounds.count_openings(connection, row.federation, row.number), row.plan.message.threshold
    if openings >= needed:
        last_chance = overdue or openings >= _able(connection, row)
        return partial(publishing.publish, context, connection, row, last_chance=last_chance)
    reason = f"{openings} members opened, {needed} are needed"
    if complained := len(complaints.members(connection, row.federation, row.number)):
        reason += f"; {complained} complained of boxes that do not open"
    return partial(publishing.abort, context, connection, row, Event.TOO_FEW_OPENINGS, reason)


def _waits(connection: Connection, row: RoundRow) -> bool:
    """Whether an aborted round keeps the next one waiting: somebody contributed, so something may be opened."""
    return row.stage is Stage.ABORTED and bool(contributions.contributors(connection, row.federation, row.number))


def _void_deadline(row: FederationRow, aborted: RoundRow) -> datetime:
    ended = aborted.ended_at or aborted.open_until
    return ended + timedelta(seconds=row.settings.rounds.open_seconds)


def _may_open(connection: Connection, row: FederationRow, last: RoundRow | None, now: datetime) -> bool:
    schedule = row.settings.rounds
    if row.state != "open":
        return False
    if last is not None:
        if last.stage in RUNNING:
            return False
        ended = last.ended_at or last.open_until
        if now < ended + timedelta(seconds=max(schedule.every, _pause(connection, row))):
            return False
    if schedule.max and rounds.count_published(connection, row.settings.name) >= schedule.max:
        return False
    return len(_available(connection, row.settings.name)) >= schedule.min_clients


def _pause(connection: Connection, row: FederationRow) -> float:
    """Seconds after a round that nobody took part in: none after the first in a row, then more and more."""
    idle = 0
    for past in rounds.read_list(connection, row.settings.name, limit=MOST_IDLE):
        place = (past.federation, past.number)
        if past.stage is not Stage.ABORTED or contributions.contributors(connection, *place):
            break
        if rounds.count_openings(connection, *place):
            # Members who prove it void are there, whatever kept them from contributing.
            break
        idle += 1
    return 0.0 if idle < 2 else min(row.settings.rounds.contribute_seconds * 2.0 ** (idle - 2), LONGEST_PAUSE)


def _available(connection: Connection, name: str) -> set[str]:
    """Clients that the next round could invite: only those of the roster where that is not signed anew."""
    row, (prior, _) = federations.read(connection, name), federations.read_prior(connection, name)
    keep = keeps_roster(row, prior.message)
    if not keep and not row.roster_offline:
        return {client.client for client in clients.read_admitted(connection, name) if client.revoked_at is None}
    roster = serving(connection, name, keep=keep)
    return set() if roster is None else set(roster.message.active()) - unheard(connection, roster.message)


def _open(context: Context, connection: Connection, row: FederationRow, last: RoundRow | None) -> int:
    name, settings, now = row.settings.name, row.settings, context.clock()
    prior, _ = federations.read_prior(connection, name)
    record = prior.message
    roster = current_roster(context, connection, row, keep=keeps_roster(row, record))
    # A roster that is not signed anew may name clients that are gone, or by a key that was replaced: their seats stay
    # empty.
    keys, silent = clients.read_opening_keys(connection, name), unheard(connection, roster.message)
    contribute_until = now + timedelta(seconds=settings.rounds.contribute_seconds)
    open_until = contribute_until + timedelta(seconds=settings.rounds.open_seconds)
    plan = plan_round(
        number=1 if last is None else last.number + 1,
        rules=settings.aggregation,
        roster=roster.message,
        keys={client: key for client, key in keys.items() if client not in silent},
        codec=publication.codec_for(settings.spec(), settings.aggregation),
        training=settings.training_settings().to_json(),
        prior_version=record.version,
        theta_version=record.theta_version,
        prior_digest=record.digest(),
        checkpoint=audit.position(connection),
        void=publishing.void_proofs(connection, name, record.version),
        contribute_until=timestamp(contribute_until),
        open_until=timestamp(open_until),
        origin=record.theta,
    )
    if plan.threshold < settings.witnesses:
        raise CommitteeError(
            f"federation {name} asks for {settings.witnesses} witnesses, and {plan.threshold} of {len(plan.seats)} "
            "members are enough to publish: its priors would wait for cosignatures that nobody owes; "
            "invite more clients"
        )
    signed = Signed[Plan].make(context.keys.service(), plan)
    rounds.add(connection, signed, contribute_until, open_until)
    audit.record(context, connection, [RoundPlanned(federation=name, plan=signed)])
    return plan.round
