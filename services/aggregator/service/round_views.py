"""What is told of rounds: where a federation stands, and one line about each round."""

from collections.abc import Sequence

from aggregator.service.admission import authorise, holders_of
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.shown_views import Shown
from aggregator.service.together import judged
from aggregator.storage import contributions, federations, rounds
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import Position, RoundRow
from fgpr.errors import FgprError
from fgpr.message import timestamp
from fgpr.rest import AbortedRound, RoundList, RoundSummary, RoundView

MOST_ROUNDS = 100
"""Most rounds in one answer."""


def view(context: Context, caller: Caller, federation: str) -> RoundView:
    """Where the federation stands.

    Raises:
        Unauthenticated, Forbidden: the caller may not know.
    """
    with context.database.read() as connection:
        authorise(connection, caller, federation)
        return _view(context, connection, federation)


def show(context: Context, callers: Sequence[Caller], federation: str) -> Sequence[Shown | FgprError]:
    """The same as it is sent to each caller; or its refusal, Unauthenticated or Forbidden, where it may not know."""
    with context.database.read() as connection:
        holders = holders_of(connection, callers)
        return judged(
            lambda caller: authorise(connection, caller, federation, holders),
            callers,
            lambda: _shown(context, connection, federation),
        )


def _shown(context: Context, connection: Connection, federation: str) -> Shown:
    position = rounds.read_position(connection, federation)
    body = context.shown.get(federation, position, timestamp(context.clock()))
    if body is None:
        body = context.shown.add(federation, position, _view(context, connection, federation))
    return Shown(_token(position), body)


def state(context: Context, federation: str) -> str:
    """The token that changes with the view; cheap enough to ask again and again."""
    with context.database.read() as connection:
        return _state(connection, federation)


def listing(context: Context, caller: Caller, federation: str, before: int | None, limit: int) -> RoundList:
    """Rounds, newest first.

    Raises:
        Unauthenticated, Forbidden: the caller may not know.
    """
    with context.database.read() as connection:
        authorise(connection, caller, federation)
        rows = rounds.read_list(connection, federation, before=before, limit=limit)
        lines = tuple(summary(connection, row) for row in rows)
    return RoundList(rounds=lines, next=rows[-1].number if len(rows) == limit and rows[-1].number > 1 else None)


def summary(connection: Connection, row: RoundRow) -> RoundSummary:
    """One line about a round."""
    plan = row.plan.message
    return RoundSummary(
        round=row.number,
        stage=row.stage,
        prior_version=plan.prior_version,
        invited=len(plan.invited),
        contributions=len(contributions.contributors(connection, row.federation, row.number)),
        cohort=None if row.cohort is None else len(row.cohort.message.members),
        openings=rounds.count_openings(connection, row.federation, row.number),
        threshold=plan.threshold,
        contribute_until=timestamp(row.contribute_until),
        open_until=timestamp(row.open_until),
        ended_at=None if row.ended_at is None else timestamp(row.ended_at),
        reason=row.reason,
    )


def _view(context: Context, connection: Connection, federation: str) -> RoundView:
    last = rounds.read_last(connection, federation)
    open_ends = rounds.read_unsettled(connection, federation)
    prior, _ = federations.read_prior(connection, federation)
    return RoundView(
        federation=federation,
        round=0 if last is None else last.number,
        stage=None if last is None else last.stage,
        state=_state(connection, federation),
        federation_state=federations.read_state(connection, federation),
        plan=None if last is None else last.plan,
        cohort=None if last is None else last.cohort,
        reason=None if last is None else last.reason,
        prior_version=prior.message.version,
        aborted=tuple(
            AbortedRound(plan=row.plan, cohort=row.empty_cohort) for row in open_ends if row.empty_cohort is not None
        ),
        server_time=timestamp(context.clock()),
    )


def _state(connection: Connection, federation: str) -> str:
    return _token(rounds.read_position(connection, federation))


def _token(position: Position) -> str:
    present = [] if position.federation_state == "open" else [position.federation_state]
    return ".".join(map(str, [position.number, position.stage or "none", *position.unsettled, *present]))
