"""Numbers of rows, for those who watch the aggregator; no names."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from aggregator.storage.tables import clients, complaints, contributions, log_head, openings, rounds

Times = tuple[str, datetime, datetime]


def count_stages(connection: Connection) -> dict[str, int]:
    """Rounds in each stage that has any."""
    query = select(rounds.c.stage, func.count()).group_by(rounds.c.stage)
    return {stage: int(count) for stage, count in connection.execute(query)}


def count_parties(connection: Connection) -> dict[str, int]:
    """Parties by role, the revoked ones apart."""
    state = case((clients.c.revoked_at.is_not(None), "revoked"), else_=clients.c.role)
    query = select(state, func.count()).group_by(state)
    return {name: int(count) for name, count in connection.execute(query)}


def count_records(connection: Connection) -> dict[str, int]:
    """Stored contributions, openings, complaints and leaves."""
    tables = {"contribution": contributions, "opening": openings, "complaint": complaints}
    found = {
        name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for name, table in tables.items()
    }
    return found | {"leaf": int(connection.execute(select(func.sum(log_head.c.size))).scalar_one() or 0)}


def read_ends(connection: Connection, limit: int) -> Sequence[Times]:
    """Federation, end of contributing and end of the newest rounds that ended."""
    query = select(rounds.c.federation, rounds.c.contribute_until, rounds.c.ended_at)
    query = query.where(rounds.c.ended_at.is_not(None)).order_by(rounds.c.ended_at.desc()).limit(limit)
    return [(row.federation, row.contribute_until, row.ended_at) for row in connection.execute(query)]


def read_due(connection: Connection, contributing: str, opening: str) -> datetime | None:
    """The earliest deadline of a stage that runs; None where none does."""
    due = case((rounds.c.stage == contributing, rounds.c.contribute_until), else_=rounds.c.open_until)
    query = select(due).where(rounds.c.stage.in_((contributing, opening))).order_by(due).limit(1)
    return connection.execute(query).scalar_one_or_none()
