"""A real aggregator's database after some rounds, the one checkpoint that is held outside, and old backups of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from aggregator.service.inspection import Anchors
from aggregator.storage.tables import metadata
from fgpr.secagg.messages import LogPosition
from support.aggregator import Aggregator, served
from tamper.auditor import position_of

CLIENTS = 4

Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Site:
    """The database, still with its aggregator.

    Attributes:
        aggregator: as it ran.
        anchors: what is held outside: the newest checkpoint and the public keys.
        backups: every row of every table, as it was before the first round and after each but the last.
    """

    aggregator: Aggregator
    anchors: Anchors
    backups: tuple[Rows, ...]

    @property
    def held(self) -> LogPosition:
        """The checkpoint that is held outside."""
        return position_of(self.anchors)


@contextmanager
def played(
    folder: Path, rounds: int, url: str | None = None, told: Callable[[int], None] = lambda _: None
) -> Iterator[Site]:
    """Play so many rounds: each third one is void, the others publish."""
    with served(folder, keeps_deadlines=False, url=url) as aggregator:
        parties, backups = aggregator.enrol(CLIENTS), []
        aggregator.advance()
        for number in range(1, rounds + 1):
            backups.append(_rows(aggregator))
            for party in parties[:1] if number % 3 == 0 else parties:
                party.contribute()
            if number % 3 == 0:
                aggregator.pass_contributing()
                needed = max(party.check().plan.threshold for party in parties)
                for party in parties[:needed]:
                    party.open_nothing(number)
                aggregator.advance()
            else:
                for party in parties:
                    party.open()
            told(number)
        yield Site(aggregator, aggregator.anchors(), tuple(backups))


def _rows(aggregator: Aggregator) -> Rows:
    with aggregator.context.database.read() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in metadata.sorted_tables
        }


def restore(connection: Connection, rows: Rows) -> None:
    """Make the database what it was."""
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())
    for table in metadata.sorted_tables:
        if rows[table.name]:
            connection.execute(insert(table), rows[table.name])
