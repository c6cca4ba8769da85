import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import op
from sqlalchemy import inspect, text

from aggregator.storage import migrate
from aggregator.storage.engine import Database
from aggregator.storage.tables import log_head
from fgpr.errors import LocalProtocolError
from support.aggregator import together


@pytest.fixture
def database(empty_database_url: str) -> Iterator[Database]:
    made = Database(empty_database_url)
    yield made
    made.close()


def test_a_schema_is_checked_exactly(database: Database) -> None:
    with pytest.raises(LocalProtocolError, match="schema none"):
        migrate.check_schema(database)
    migrate.upgrade(database)
    migrate.check_schema(database)
    migrate.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'from the future'"))
    with pytest.raises(LocalProtocolError, match="schema from the future, which this program does not know: use"):
        migrate.check_schema(database)
    # Nor is it brought to any other.
    with pytest.raises(LocalProtocolError, match="use the version of fgpr-aggregator that made it, or a newer one"):
        migrate.upgrade(database)


def test_what_has_to_be_run_is_told_in_full(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'of an older version.db'}")
    migrate.upgrade(database, "0010")
    with pytest.raises(LocalProtocolError) as caught:
        migrate.check_schema(database)
    told = str(caught.value)
    assert f"the database {database.url} has schema 0010, this program needs 0011: run" in told
    assert shlex.split(told.split("`")[1]) == ["fgpr-aggregator", "migrate", "--database", database.url]
    database.close()


def test_processes_may_migrate_at_once(database: Database) -> None:
    databases = [Database(database.url) for _ in range(4)]
    assert together([lambda one=one: migrate.upgrade(one) for one in databases]) == [None] * 4
    for one in databases:
        migrate.check_schema(one)
        one.close()
    assert len(inspect(database.engine).get_table_names()) > 10


def test_a_failed_step_leaves_the_old_schema(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate.upgrade(database)
    with database.write() as connection:
        connection.execute(log_head.insert().values(id=1, size=0, frontier=b"", note="note"))
    tables = inspect(database.engine).get_table_names()

    dropped: list[str] = []
    drop = op.drop_table

    def drop_some(name: str, **rest: object) -> None:
        dropped.append(name)
        if len(dropped) == 5:
            raise ZeroDivisionError
        drop(name, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(op, "drop_table", drop_some)
    with pytest.raises(ZeroDivisionError):
        migrate.downgrade(database, "base")
    assert len(dropped) == 5
    migrate.check_schema(database)
    assert inspect(database.engine).get_table_names() == tables
    with database.read() as connection:
        assert connection.execute(text("SELECT note FROM log_head")).scalar_one() == "note"
