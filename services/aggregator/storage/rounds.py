"""Rows of rounds, their contributions and openings."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from aggregator.storage import federations, tables
from aggregator.storage.announcements import announce
from aggregator.storage.tables import openings, rounds
from fgpr.errors import Unavailable, UnknownResource
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, Opening, Plan
from fgpr.secagg.stages import Stage

MOST_UNSETTLED = 16
"""Aborted rounds that are kept open for void proofs; without clients a federation aborts round after round."""


# Every request of a round reads its plan, which holds a signed key a seat. Documents never change.
_plan = lru_cache(maxsize=64)(Signed[Plan].decode)
_cohort = lru_cache(maxsize=64)(Signed[Cohort].decode)


@dataclass(frozen=True)
class RoundRow:
    """A round as stored."""

    federation: str
    number: int
    stage: Stage
    plan: Signed[Plan]
    cohort: Signed[Cohort] | None
    empty_cohort: Signed[Cohort] | None
    contribute_until: datetime
    open_until: datetime
    ended_at: datetime | None
    reason: str | None


@dataclass(frozen=True)
class RoundState:
    """What of a round can change while contributions come in, and their deadline."""

    stage: Stage
    contribute_until: datetime


@dataclass(frozen=True)
class Position:
    """Where the rounds of a federation stand.

    Attributes:
        number: of the newest round, 0 before the first.
        stage: its stage, None before the first.
        unsettled: numbers of `read_unsettled`.
        contribute_until: its first deadline.
        ended_at: when it ended.
        federation_state: whether rounds open in the federation.
    """

    number: int
    stage: str | None
    unsettled: tuple[int, ...]
    federation_state: str
    contribute_until: datetime | None = None
    ended_at: datetime | None = None


def add(connection: Connection, plan: Signed[Plan], contribute_until: datetime, open_until: datetime) -> None:
    """Write a round that opens.

    Raises:
        Unavailable: another replica opened it first.
    """
    values = {
        "federation": plan.message.federation,
        "number": plan.message.round,
        "stage": Stage.CONTRIBUTING.value,
        "plan": plan.encode(),
        "contribute_until": contribute_until,
        "open_until": open_until,
    }
    try:
        connection.execute(insert(rounds).values(values))
    except IntegrityError as error:
        raise Unavailable(f"round {plan.message.round} was opened meanwhile") from error
    announce(connection, plan.message.federation)


def move(connection: Connection, row: RoundRow, stage: Stage, **changes: object) -> None:
    """Move a round to its next stage, with the columns that change along.

    Raises:
        Unavailable: it is no longer in the stage that `row` names: another replica moved it, and nothing of this
            transaction may stand.
    """
    moved = connection.execute(
        update(rounds)
        .where(rounds.c.federation == row.federation, rounds.c.number == row.number, rounds.c.stage == row.stage.value)
        .values(stage=stage.value, **changes)
    )
    if moved.rowcount != 1:
        raise Unavailable(f"round {row.number} moved meanwhile")
    announce(connection, row.federation)


def read(connection: Connection, federation: str, number: int) -> RoundRow:
    """A round.

    Raises:
        UnknownResource: there is none of that number.
    """
    row = connection.execute(_ROUND, {"name": federation, "number": number}).one_or_none()
    if row is None:
        raise UnknownResource(f"federation {federation} has no round {number}")
    return _round(row)


def read_state(connection: Connection, federation: str, number: int) -> RoundState:
    """The stage of a round, without its documents.

    Raises:
        UnknownResource: there is none of that number.
    """
    row = connection.execute(_STATE, {"name": federation, "number": number}).one_or_none()
    if row is None:
        raise UnknownResource(f"federation {federation} has no round {number}")
    return RoundState(Stage(row.stage), row.contribute_until)


def read_last(connection: Connection, federation: str) -> RoundRow | None:
    """The newest round, or None before the first."""
    row = connection.execute(_LAST, {"name": federation}).one_or_none()
    return None if row is None else _round(row)


def read_list(connection: Connection, federation: str, *, before: int | None = None, limit: int = 50) -> list[RoundRow]:
    """Rounds, newest first, below number `before`."""
    query = select(rounds).where(rounds.c.federation == federation)
    if before is not None:
        query = query.where(rounds.c.number < before)
    return [_round(row) for row in connection.execute(query.order_by(rounds.c.number.desc()).limit(limit))]


def read_in_stage(connection: Connection, federation: str, stages: Iterable[Stage]) -> list[RoundRow]:
    """Rounds in one of these stages, oldest first."""
    query = select(rounds).where(
        rounds.c.federation == federation, rounds.c.stage.in_([stage.value for stage in stages])
    )
    return [_round(row) for row in connection.execute(query.order_by(rounds.c.number))]


def read_unsettled(connection: Connection, federation: str) -> list[RoundRow]:
    """The newest aborted rounds of the present prior, oldest first, at most MOST_UNSETTLED."""
    return [_round(row) for row in connection.execute(_UNSETTLED, {"name": federation})][::-1]


def read_position(connection: Connection, federation: str) -> Position:
    """Where a federation's rounds stand; cheap, since every client asks again and again."""
    rows = connection.execute(_POSITION, {"name": federation}).all()
    if not rows:
        return Position(0, None, (), federations.read_state(connection, federation))
    last = rows[0]
    unsettled = [row.number for row in rows if row.unsettled][:MOST_UNSETTLED]
    return Position(last.number, last.stage, tuple(unsettled[::-1]), last.present, last.contribute_until, last.ended_at)


def add_opening(connection: Connection, opening: Signed[Opening]) -> None:
    """Write an opening; one a member and round, by the primary key."""
    message = opening.message
    values = {
        "federation": message.federation,
        "round": message.round,
        "client": message.client,
        "document": opening.encode(),
    }
    try:
        connection.execute(_ADD_OPENING, values)
    except IntegrityError as error:
        raise Unavailable(f"{message.client}'s opening is being stored by another request") from error


def read_openings(connection: Connection, federation: str, number: int) -> dict[str, Signed[Opening]]:
    """The openings of a round, by member."""
    query = select(openings.c.client, openings.c.document).where(
        openings.c.federation == federation, openings.c.round == number
    )
    rows = connection.execute(query.order_by(openings.c.client))
    return {row.client: Signed[Opening].decode(row.document) for row in rows}


def read_opening(connection: Connection, federation: str, number: int, client: str) -> Signed[Opening] | None:
    """One member's opening of a round."""
    document = connection.execute(
        _OPENING, {"name": federation, "number": number, "client_id": client}
    ).scalar_one_or_none()
    return None if document is None else Signed[Opening].decode(document)


def read_openings_of(
    connection: Connection, federation: str, number: int, named: Iterable[str]
) -> dict[str, Signed[Opening]]:
    """The openings of these members, of those that are in; in one query."""
    rows = connection.execute(_OPENINGS_OF, {"name": federation, "number": number, "named": list(named)})
    return {row.client: Signed[Opening].decode(row.document) for row in rows}


def openers(connection: Connection, federation: str, number: int) -> set[str]:
    """Ids of the members that opened a round; reading their documents would take as long as checking them."""
    return set(connection.execute(_OPENERS, {"name": federation, "number": number}).scalars())


def count_openings(connection: Connection, federation: str, number: int) -> int:
    """How many openings of a round are in."""
    return connection.execute(_COUNT_OPENINGS, {"name": federation, "number": number}).scalar_one()


def count_published(connection: Connection, federation: str) -> int:
    """How many rounds published a prior."""
    query = (
        select(func.count())
        .select_from(rounds)
        .where(rounds.c.federation == federation, rounds.c.stage == Stage.PUBLISHED.value)
    )
    return connection.execute(query).scalar_one()


def _statements_of_rounds() -> tuple[Select[Any], Select[Any]]:
    """Of `read_unsettled` and `read_position`."""
    of_it = rounds.c.federation == bindparam("name")
    # Each published or carried round begins a new prior; void proofs of older ones serve nobody.
    settled = rounds.c.stage.in_([Stage.PUBLISHED.value, Stage.CARRIED.value])
    begun = select(func.coalesce(func.max(rounds.c.number), 0)).where(of_it, settled).scalar_subquery()
    unsettled = and_(rounds.c.stage == Stage.ABORTED.value, rounds.c.number > begun)
    newest = select(func.max(rounds.c.number)).where(of_it).scalar_subquery()
    present = select(tables.federations.c.state).where(tables.federations.c.name == bindparam("name"))
    position = select(
        rounds.c.number,
        rounds.c.stage,
        rounds.c.contribute_until,
        rounds.c.ended_at,
        unsettled.label("unsettled"),
        present.scalar_subquery().label("present"),
    ).where(of_it, or_(rounds.c.number == newest, unsettled))
    falling = rounds.c.number.desc()
    return (
        select(rounds).where(of_it, unsettled).order_by(falling).limit(MOST_UNSETTLED),
        position.order_by(falling).limit(MOST_UNSETTLED + 1),
    )


# Written down once: SQLAlchemy takes four times as long to put a statement together as SQLite does to answer it.
_UNSETTLED, _POSITION = _statements_of_rounds()
_ROUND = select(rounds).where(rounds.c.federation == bindparam("name"), rounds.c.number == bindparam("number"))
_STATE = _ROUND.with_only_columns(rounds.c.stage, rounds.c.contribute_until)
_LAST = select(rounds).where(rounds.c.federation == bindparam("name")).order_by(rounds.c.number.desc()).limit(1)
_ADD_OPENING = insert(openings)
_OPENERS = select(openings.c.client).where(
    openings.c.federation == bindparam("name"), openings.c.round == bindparam("number")
)
_OPENING = _OPENERS.with_only_columns(openings.c.document).where(openings.c.client == bindparam("client_id"))
_OPENINGS_OF = _OPENERS.add_columns(openings.c.document).where(
    openings.c.client.in_(bindparam("named", expanding=True))
)
_COUNT_OPENINGS = _OPENERS.with_only_columns(func.count())


def _round(row: Row[Any]) -> RoundRow:
    return RoundRow(
        federation=row.federation,
        number=row.number,
        stage=Stage(row.stage),
        plan=_plan(row.plan),
        cohort=None if row.cohort is None else _cohort(row.cohort),
        empty_cohort=None if row.empty_cohort is None else _cohort(row.empty_cohort),
        contribute_until=row.contribute_until,
        open_until=row.open_until,
        ended_at=row.ended_at,
        reason=row.reason,
    )
