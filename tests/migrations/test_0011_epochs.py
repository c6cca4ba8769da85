"""From the schema before epochs to epochs and back: each upgrade begins one."""

from pathlib import Path

from sqlalchemy import inspect

from aggregator.service import restoring
from aggregator.storage import migrate
from support.aggregator import served


def test_a_used_database_goes_back_and_forth(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        aggregator.enrol(4)
        before, database = aggregator.dump(), aggregator.context.database
        first = restoring.epoch(aggregator.context)
        migrate.downgrade(database, "0010")
        assert "installation" not in inspect(database.engine).get_table_names()
        migrate.upgrade(database)
        after = aggregator.dump()
        assert before.pop("installation") != after.pop("installation")
        assert after == before
        second = restoring.epoch(aggregator.context)
        assert len(first) == len(second) == 22
        assert first != second
