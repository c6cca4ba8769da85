"""Files of backups: whole under their name or not there, and what is no backup of this schema is put nowhere."""

import os
import shlex
import sqlite3
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aggregator.cli import app
from aggregator.service import restoring
from aggregator.storage import migrate
from aggregator.storage.engine import Database
from support.aggregator import Aggregator
from support.backups import restored, run

pytestmark = pytest.mark.usefixtures("logs_as_they_are")


def test_what_is_no_backup(aggregator: Aggregator, tmp_path: Path) -> None:
    aggregator.enrol(1)
    before = aggregator.dump()
    (tmp_path / "rubbish").write_bytes(b"rubbish" * 1000)
    with sqlite3.connect(tmp_path / "empty") as connection:
        connection.execute("CREATE TABLE x (y)")
    for name, reason in (("rubbish", "is damaged, or is none"), ("empty", "schema none"), ("missing", "No such file")):
        result = restored(aggregator, tmp_path / name)
        assert (result.exit_code, reason in result.stderr) == (1, True), result.stderr
    assert aggregator.dump() == before
    # A database that was put back by other means: only the epoch is new.
    old = restoring.epoch(aggregator.context)
    aggregator.context.database.close()
    assert run(aggregator, "restore").exit_code == 0
    assert restoring.epoch(aggregator.context) != old


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_of_an_older_schema_says_which_command_brings_it_up(aggregator: Aggregator, tmp_path: Path) -> None:
    aggregator.enrol(2)
    file = tmp_path / "of last year"
    run(aggregator, "backup", str(file))
    older = Database(f"sqlite:///{file}")
    migrate.downgrade(older, "0010")
    older.close()
    before = aggregator.dump()
    refused = restored(aggregator, file)
    assert refused.exit_code == 1
    assert f"the database sqlite:///{file} has schema 0010, this program needs 0011" in refused.stderr
    assert aggregator.dump() == before
    # As it stands there, with the folder of keys that every command takes.
    program, *words = shlex.split(refused.stderr.split("`")[1])
    assert (program, words[0]) == ("fgpr-aggregator", "migrate")
    migrated = CliRunner().invoke(app, [*words, "--keys", str(aggregator.settings.keys)])
    assert migrated.exit_code == 0, migrated.output
    assert "a new epoch has begun" in restored(aggregator, file).stdout
    assert [row[:2] for row in aggregator.dump()["clients"]] == [row[:2] for row in before["clients"]]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_is_whole_and_on_the_disk_before_it_has_its_name(
    aggregator: Aggregator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    file, done = tmp_path / "there" / "backup", list[str]()
    replace, fsync = Path.replace, os.fsync

    def replacing(source: Path, target: Path) -> Path:
        with sqlite3.connect(f"file:{source}?immutable=1", uri=True) as connection:
            ((leaves,),) = connection.execute("SELECT size FROM log_head").fetchall()
        assert (leaves, target.stat().st_size) == (len(aggregator.leaves()), 0)
        done.append(f"{source.parent.name} renamed to {target.name}")
        return replace(source, target)

    def syncing(descriptor: int) -> None:
        done.append(f"{Path(f'/proc/self/fd/{descriptor}').readlink().name} synced")
        fsync(descriptor)

    monkeypatch.setattr(Path, "replace", replacing)
    monkeypatch.setattr(os, "fsync", syncing)
    assert run(aggregator, "backup", str(file)).exit_code == 0
    assert done == ["there renamed to backup", "there synced"]
    assert [path.name for path in file.parent.iterdir()] == ["backup"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_backup_has_a_question_mark_in_its_name(aggregator: Aggregator, tmp_path: Path) -> None:
    there = sorted(tmp_path.iterdir())
    result = run(aggregator, "backup", str(tmp_path / "a?b"))
    assert (result.exit_code, "a?b has a ? in it: name another file" in result.stderr) == (1, True), result.output
    assert sorted(tmp_path.iterdir()) == there


def test_a_backup_whose_log_is_not_written_back_is_none(
    aggregator: Aggregator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full: the last connection then leaves the newest rows in the file beside."""
    aggregator.enrol(1)
    assert run(aggregator, "backup", str(tmp_path / "whole")).exit_code == 0
    kept = aggregator.dump()
    close = Database.close

    def leaving(database: Database) -> None:
        close(database)
        file = database.file
        if file is not None and file.name.startswith("."):
            file.with_name(f"{file.name}-wal").write_bytes(b"the newest rows")

    monkeypatch.setattr(Database, "close", leaving)
    for words in (("backup", str(tmp_path / "new")), ("restore", str(tmp_path / "whole"))):
        aggregator.context.database.close()
        result = run(aggregator, *words)
        assert (result.exit_code, " is full: make room" in result.stderr) == (1, True), result.output
    monkeypatch.undo()
    # Nothing of it is left, neither under its name nor beside.
    assert not [path.name for path in tmp_path.iterdir() if path.name == "new" or path.name.startswith(".")]
    assert aggregator.dump() == kept
