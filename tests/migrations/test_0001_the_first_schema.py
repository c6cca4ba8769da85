from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from aggregator.storage import migrate
from aggregator.storage.engine import Database
from aggregator.storage.tables import metadata
from support.aggregator import Aggregator, served

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def database(empty_database_url: str) -> Iterator[Database]:
    made = Database(empty_database_url)
    yield made
    made.close()


def schema(database: Database) -> dict[str, Any]:
    """Everything that the database says about its tables."""
    found = inspect(database.engine)
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in found.get_columns(name)],
            found.get_pk_constraint(name),
            sorted(found.get_foreign_keys(name), key=repr),
            sorted(found.get_unique_constraints(name), key=repr),
            sorted(found.get_indexes(name), key=repr),
        )
        for name in sorted(found.get_table_names())
    }


def test_up_down_and_up_again(database: Database) -> None:
    migrate.upgrade(database)
    first = schema(database)
    assert set(first) == {*metadata.tables, "alembic_version"}
    migrate.downgrade(database, "base")
    assert set(schema(database)) <= {"alembic_version"}
    migrate.upgrade(database)
    assert schema(database) == first
    migrate.check_schema(database)


def test_migrations_and_tables_do_not_differ(database: Database) -> None:
    migrate.upgrade(database)
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "render_as_batch": True})
        assert compare_metadata(context, metadata) == []
    migrated = schema(database)
    migrated.pop("alembic_version")
    migrate.downgrade(database, "base")
    with database.write() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
        metadata.create_all(connection)
    assert schema(database) == migrated


def test_there_is_one_line_of_revisions() -> None:
    config = Config(str(ROOT / "alembic.ini"))
    config.set_main_option("script_location", str(ROOT / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == ["0011"]
    assert scripts.get_bases() == ["0001"]


def test_a_used_database_is_left_as_it_is(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        play(aggregator)
        before = aggregator.dump()
        migrate.upgrade(aggregator.context.database)
        assert aggregator.dump() == before


def play(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
