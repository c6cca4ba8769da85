"""From the third schema to the fourth and back, with rows in it."""

from pathlib import Path

from sqlalchemy import inspect

from aggregator.storage import migrate
from support.aggregator import served


def test_a_used_database_goes_back_and_forth(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        for party in parties:
            party.open()
        before, database = aggregator.dump(), aggregator.context.database
        migrate.downgrade(database, "0003")
        columns = [column["name"] for column in inspect(database.engine).get_columns("clients")]
        assert "receipt" in columns
        assert "declared" not in columns
        migrate.upgrade(database)
        assert aggregator.dump() == before
