"""Case E10: a used database goes to the previous release and back on both databases, which end up alike."""

from pathlib import Path
from typing import Any

import pytest
from alembic import op
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from aggregator.service import inspection
from aggregator.storage import migrate
from aggregator.storage.engine import Database
from fgpr.errors import LocalProtocolError
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served
from support.backups import again
from support.postgres import Postgres

PREVIOUS = "0010"
"""The revision before this release's."""

ROUNDS = 3


def play(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for number in range(1, ROUNDS + 1):
        for act in ("contribute", "open"):
            for party in parties:
                getattr(party, act)()
        assert aggregator.round(number).stage is Stage.PUBLISHED


def revision(database: Database) -> str | None:
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def rows(aggregator: Aggregator) -> dict[str, list[tuple[object, ...]]]:
    """All but the epoch, of which each upgrade begins a new one."""
    found = aggregator.dump()
    found.pop("installation")
    return found


def test_three_rounds_go_down_and_up_and_the_log_still_verifies(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        play(aggregator)
        before, database, anchors = rows(aggregator), aggregator.context.database, aggregator.anchors()
        for _ in range(2):
            migrate.downgrade(database, PREVIOUS)
            with pytest.raises(LocalProtocolError, match=f"has schema {PREVIOUS}"):
                migrate.check_schema(database)
            migrate.upgrade(database)
            assert rows(aggregator) == before
        inspection.verify_database(database, anchors)
        # And it goes on where it was, once it is started anew: the schema before knows of no epoch.
        aggregator.app.state.aggregator = again(aggregator).state.aggregator
        for party in aggregator.parties.values():
            party.contribute()
        assert aggregator.round(ROUNDS + 1).stage is Stage.OPENING


def test_a_failed_upgrade_leaves_the_previous_release_usable(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        play(aggregator)
        database = aggregator.context.database
        migrate.downgrade(database, PREVIOUS)
        tables = inspect(database.engine).get_table_names()
        with monkeypatch.context() as patched:
            # After the table is made, before its row is in.
            patched.setattr(op, "bulk_insert", lambda *_: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                migrate.upgrade(database)
        assert revision(database) == PREVIOUS
        assert inspect(database.engine).get_table_names() == tables
        with database.write() as connection:
            # Nothing is locked, and what the previous release knows is there.
            assert connection.exec_driver_sql("SELECT count(*) FROM rounds").scalar_one() == ROUNDS + 1
        migrate.upgrade(database)
        inspection.verify_database(database, aggregator.anchors())


def structure(url: str) -> dict[str, Any]:
    """Names of columns, keys, constraints and indexes, and what each is of; types have other words on each database."""
    database = Database(url)
    migrate.upgrade(database)
    found = inspect(database.engine)
    told = {
        table: {
            "columns": [(column["name"], column["nullable"]) for column in found.get_columns(table)],
            "key": (found.get_pk_constraint(table)["name"], found.get_pk_constraint(table)["constrained_columns"]),
            "unique": sorted((one["name"], one["column_names"]) for one in found.get_unique_constraints(table)),
            "foreign": sorted(
                (one["name"], one["constrained_columns"], one["referred_table"], one["referred_columns"])
                for one in found.get_foreign_keys(table)
            ),
            "checks": sorted(str(one["name"]) for one in found.get_check_constraints(table)),
            "indexes": sorted(
                (one["name"], one["column_names"], bool(one["unique"]))
                for one in found.get_indexes(table)
                if "duplicates_constraint" not in one
            ),
        }
        for table in found.get_table_names()
        if table != "alembic_version"
    }
    database.close()
    return told


def test_both_databases_have_the_same_constraints_and_indexes(tmp_path: Path, postgresql: Postgres) -> None:
    with postgresql.database(migrated=False) as url:
        assert structure(url) == structure(f"sqlite:///{tmp_path / 'x.db'}")
