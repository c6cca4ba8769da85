"""Every row of one database goes into another, whichever of the two kinds each is, or nothing changes."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, select

from aggregator import main
from aggregator.service.inspection import verify_database
from aggregator.storage import copying
from aggregator.storage.announcements import Listener
from aggregator.storage.engine import Database
from fgpr.auditlog import entries
from fgpr.errors import Unavailable
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, wait_until
from support.backups import restored, run
from support.databases import migrated_sqlite
from support.postgres import Postgres
from support.staff import Staff

pytestmark = pytest.mark.usefixtures("logs_as_they_are")


LOG = ("log_leaves", "log_nodes", "log_head")


def check_epoch(before: dict[str, list[tuple[Any, ...]]], after: dict[str, list[tuple[Any, ...]]]) -> None:
    """The log is as it was, and one more leaf tells of the new epoch; both lose their tables of the log."""
    old, new = (dict(rows["log_leaves"]) for rows in (before, after))
    assert {index: leaf for index, leaf in new.items() if index in old} == old
    ((index, leaf),) = [(index, leaf) for index, leaf in new.items() if index not in old]
    assert (index, entries.decode(leaf).kind) == (len(old), "epoch")
    for rows in (before, after):
        for table in LOG:
            rows.pop(table)


def test_every_row_comes_back(aggregator: Aggregator, tmp_path: Path) -> None:
    parties = aggregator.enrol(5)
    Staff(aggregator, "olga", "operator").enrol()
    parties[4].rotate()
    aggregator.advance()
    for party in parties:
        party.contribute()
    for party in parties[:2]:
        party.open()
    before, file = aggregator.dump(), tmp_path / "backup"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    for party in parties[2:]:
        party.open()
    assert restored(aggregator, file).exit_code == 0
    after = aggregator.dump()
    check_epoch(before, after)
    assert before.pop("installation") != after.pop("installation")
    # Requests of before are refused by their epoch.
    assert before.pop("nonces")
    assert after.pop("nonces") == []
    assert after == before
    verify_database(aggregator.context.database, aggregator.anchors())
    for party in parties[2:]:
        party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED


def test_a_backup_of_either_database_goes_into_the_other(
    aggregator: Aggregator, tmp_path: Path, postgresql: Postgres
) -> None:
    aggregator.enrol(3)
    aggregator.advance()
    file = tmp_path / "backup"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    before = aggregator.dump()
    kept = {name: rows for name, rows in before.items() if name not in ("installation", "nonces", *LOG)}
    with postgresql.database() as url:
        other = migrated_sqlite(tmp_path / "other.db") if not aggregator.context.database.is_sqlite else url
        settings = aggregator.settings.model_copy(update={"database": other})
        moved = replace(aggregator, settings=settings, context=main.create_context(settings, aggregator.clock))
        assert run(moved, "restore", str(file)).exit_code == 0
        after = moved.dump()
        assert {name: rows for name, rows in after.items() if name in kept} == kept
        check_epoch(before, after)
        verify_database(moved.context.database, moved.anchors())
        moved.context.database.close()


def test_a_copy_that_fails_leaves_what_was_there(
    aggregator: Aggregator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregator.enrol(2)
    file = tmp_path / "backup"

    def failing(table: Table) -> object:
        if table.name == "log_leaves":
            raise Unavailable("no space is left")
        return select(table)

    with monkeypatch.context() as broken:
        broken.setattr(copying, "select", failing)
        told = run(aggregator, "backup", str(file)).stderr
    assert "no space is left" in told
    assert [path for path in tmp_path.iterdir() if path.name.startswith(file.name)] == []
    assert run(aggregator, "backup", str(file)).exit_code == 0
    before = aggregator.dump()
    source = Database(f"sqlite:///{file}")
    monkeypatch.setattr(copying, "select", failing)
    with pytest.raises(Unavailable):
        copying.copy(source, aggregator.context.database)
    source.close()
    assert aggregator.dump() == before


def test_an_aggregator_that_still_serves_is_noticed(aggregator: Aggregator, tmp_path: Path) -> None:
    """It would go on with the old epoch, whose nonces are forgotten, and on SQLite with a file that has no name."""
    aggregator.enrol(1)
    file, before = tmp_path / "backup", aggregator.dump()
    assert run(aggregator, "backup", str(file)).exit_code == 0
    # What serves listens on PostgreSQL; on SQLite it has the file open, as the server of this test has.
    ready = threading.Event()
    listener = Listener(aggregator.settings.database, ready.set, lambda _: ready.set())
    listener.start()
    assert aggregator.context.database.is_sqlite or ready.wait(30)
    for arguments in (("restore", str(file)), ("restore", str(file), "--lose-entries"), ("restore",)):
        refused = run(aggregator, *arguments)
        assert refused.exit_code == 1
        assert "an aggregator works on this database still" in refused.stderr
    listener.stop()
    assert aggregator.dump() == before
    aggregator.context.database.close()
    wait_until(lambda: run(aggregator, "restore", str(file)).exit_code == 0)
