"""`fgpr-aggregator doctor`: what it prints, and its exit status."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from aggregator import kept_files
from aggregator.cli import app
from aggregator.service.invariants.invariant import INVARIANTS
from client_agent import durable_file, keyfile, membership
from client_agent.journal import Journal
from client_agent.membership import Membership
from fgpr import private_keys
from fgpr.errors import DataError
from fgpr.rest import CheckpointView, LogEntries
from support.aggregator import Aggregator, served
from support.client import CohortOpened
from support.forged_database import Forged, journal_of
from support.party import Party


@dataclass
class Site:
    """An aggregator at work, and the home of one of its agents."""

    aggregator: Aggregator
    home: Path

    def doctor(self, *arguments: object) -> Result:
        settings = self.aggregator.settings
        command = ["doctor", "--database", settings.database, "--keys", settings.keys, *arguments]
        return CliRunner().invoke(app, [str(argument) for argument in command], env={"COLUMNS": "200"})

    def report(self, *arguments: object, status: int = 0) -> dict[int, dict[str, object]]:
        result = self.doctor("--json", *arguments)
        assert result.exit_code == status, result.output
        return {line["invariant"]: line for line in json.loads(result.stdout)}


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        for party in parties:
            party.open()
        yield Site(aggregator, home_of(aggregator, parties[0], tmp_path / "home"))


def home_of(aggregator: Aggregator, party: Party, home: Path) -> Path:
    """What the agent of this party would have written."""
    keyfile.make_folder(home)
    membership.save(home, Membership.from_ticket(party.ticket))
    kept = journal_of(aggregator, party)
    with Journal(home) as journal:
        for number, seen in kept.plans.items():
            journal.record_plan(seen.plan, seen.roster)
            journal.write_contribution(number, kept.contributions[number])
            journal.write_opening(number, kept.openings[number].cohort, kept.openings[number].body)
    assert kept.checkpoint is not None
    durable_file.replace(home / "checkpoint.json", kept.checkpoint.encode())
    assert any(isinstance(record, CohortOpened) for record in party.client.journal)
    return home


def test_a_healthy_database(site: Site) -> None:
    lines = site.report()
    assert lines.keys() == INVARIANTS.keys()
    assert {number for number, line in lines.items() if line["holds"] is None} == {13, 16}
    assert all(line["violations"] == [] and line["remedy"] is None for line in lines.values())
    assert all(line["holds"] for line in site.report("--journal", site.home).values())
    text = site.doctor().stdout
    assert text.count("not judged") == 2
    assert "FAILS" not in text


def test_a_fault_is_told_with_what_to_do(site: Site) -> None:
    made = Forged(site.aggregator, [])
    made.execute("UPDATE rounds SET stage = 'void', reason = '[red]' WHERE number = 1")
    line = site.report(status=1)[4]
    assert line["holds"] is False
    assert line["violations"] == ["round 1 of engines is in stage void; the log leads to published"]
    result = site.doctor()
    assert result.exit_code == 1
    assert "FAILS" in result.stdout
    assert "What to do" in result.stdout


def test_a_key_of_its_own_in_the_database_is_found(site: Site) -> None:
    secret = site.aggregator.context.keys.roster("engines").private_bytes_raw()
    Forged(site.aggregator, []).execute("UPDATE rounds SET reason = :r", r=secret.hex())
    (first, *others) = site.report(status=1)[15]["violations"]  # type: ignore[misc]
    assert first == "rounds.reason holds the roster key of engines"
    # SQLite's file has it since the row was written back.
    assert set(others) <= {f"{name} holds the roster key of engines" for name in ("fgpr.db", "fgpr.db-wal")}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_key_that_no_table_has_any_more_is_found(site: Site) -> None:
    secret = site.aggregator.context.keys.service().private_bytes_raw()
    name = site.aggregator.path.name
    made = Forged(site.aggregator, [])
    made.execute("CREATE TABLE scratch (value BLOB)")
    made.execute("INSERT INTO scratch VALUES (:v)", v=secret)
    made.execute("DELETE FROM scratch")
    made.execute("DROP TABLE scratch")
    assert site.report(status=1)[15]["violations"] == [f"{name}-wal holds the service key"]
    # Emptied, as the deadlines do: what was erased is gone from the log, and was never written back.
    made.database.note_erasure()
    made.database.purge()
    line = site.report()[15]
    assert line["holds"] is True
    assert "Not searched: backups, log files" in str(line["looked"])


def test_a_key_in_a_table_of_nobodys_is_found(site: Site) -> None:
    key = site.aggregator.context.keys.service()
    made = Forged(site.aggregator, [])
    made.execute('CREATE TABLE "Scratch" (value VARCHAR)')
    try:
        made.execute('INSERT INTO "Scratch" VALUES (:v)', v=private_keys.to_pem(key).decode())
        found = site.report(status=1)[15]["violations"]
        where = "Scratch.value" if not made.database.is_sqlite else f"{site.aggregator.path.name}-wal"
        assert f"{where} holds a private key in PEM" in found  # type: ignore[operator]
    finally:
        made.execute('DROP TABLE "Scratch"')


def test_files_of_the_log(site: Site, tmp_path: Path) -> None:
    note = site.aggregator.anchors().note
    leaves = tuple(site.aggregator.raw_leaves())
    files = {
        "note": note.encode(),
        "view.json": CheckpointView(note=note, service_key=bytes(32)).encode(),
        "page.json": LogEntries(start=0, end=len(leaves), frontier=(), leaves=leaves).encode(),
    }
    options: list[object] = []
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        options += ["--log", tmp_path / name]
    site.report(*options)
    # The same files, and a log that went back.
    Forged(site.aggregator, []).relog(lambda kept: kept[:-1])
    found = site.report(*options, status=1)[11]["violations"]
    assert [str(what).split(" counts ")[0].split(", from ")[0] for what in found] == [  # type: ignore[attr-defined]
        f"the checkpoint in {tmp_path / 'note'}",
        f"the checkpoint in {tmp_path / 'view.json'}",
        f"the leaves in {tmp_path / 'page.json'}",
    ]


def test_the_checkpoint_beside_the_keys_counts(site: Site) -> None:
    site.aggregator.context.keys.remember(site.aggregator.anchors().note)
    site.report()
    Forged(site.aggregator, []).relog(lambda kept: kept[:-1])
    (found,) = site.report(status=1)[11]["violations"]  # type: ignore[misc]
    assert str(found).startswith("the checkpoint in the keys' folder counts ")
    (site.aggregator.settings.keys / "checkpoint.note").write_text("nothing", encoding="utf-8")
    assert "beside the keys is none of this aggregator" in site.doctor().stderr


@pytest.mark.parametrize("content", [b"", b"{}", b'{"leaves":1}', b"\xff", b"a note\n\n- of nobody AAAA\n"])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_file_that_is_no_log_is_named(site: Site, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    result = site.doctor("--log", tmp_path / "x")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"fgpr-aggregator: {tmp_path / 'x'} is no checkpoint")
    assert site.doctor("--log", tmp_path / "none").exit_code == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_damaged_home_is_named(site: Site, tmp_path: Path) -> None:
    files = [path.relative_to(site.home) for path in site.home.rglob("*.json") if path.name != "numbers.json"]
    assert len(files) == 5
    for name in files:
        copy = Path(shutil.copytree(site.home, tmp_path / "copy"))
        (copy / name).write_bytes(b"{" if name.name != "contribution.json" else b"another")
        if name.name == "contribution.json":
            # Whatever it is: not what is stored.
            assert site.report("--journal", copy, status=1)[14]["holds"] is False
        else:
            with pytest.raises(DataError, match=str(copy / name)):
                kept_files.read_home(copy)
            assert str(copy / name) in site.doctor("--journal", copy).stderr
        shutil.rmtree(copy)
    assert site.doctor("--journal", tmp_path / "none").exit_code == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_older_schema_is_refused(site: Site) -> None:
    Forged(site.aggregator, []).execute("UPDATE alembic_version SET version_num = '0001'")
    result = site.doctor()
    assert result.exit_code == 1
    assert "fgpr-aggregator migrate" in result.stderr
