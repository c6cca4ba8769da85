"""A database in which something happened, for migrations that must lose nothing of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Inspector, inspect

from aggregator.storage import migrate
from support.aggregator import Aggregator, served


@contextmanager
def downgraded(folder: Path, url: str, revision: str) -> Iterator[Inspector]:
    """The schema of an earlier revision, with a round's rows in it; afterwards it is upgraded, and nothing is lost."""
    with served(folder, keeps_deadlines=False, url=url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        for party in parties:
            party.open()
        database = aggregator.context.database
        # What roles and epochs added is not carried back and forth, as their own tests say.
        migrate.downgrade(database, "0004")
        migrate.upgrade(database)
        before = _without_epoch(aggregator)
        migrate.downgrade(database, revision)
        yield inspect(database.engine)
        migrate.upgrade(database)
        assert _without_epoch(aggregator) == before


def _without_epoch(aggregator: Aggregator) -> dict[str, list[tuple[object, ...]]]:
    rows = aggregator.dump()
    rows.pop("installation")
    return rows
