"""Backups: what was true before the restored one counts no more, and a log that lost entries is not served."""

import stat
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from aggregator import main
from aggregator.cli import app
from aggregator.deadlines import Deadlines
from aggregator.service import restoring
from aggregator.settings import Settings
from aggregator.storage import copying
from aggregator.storage.engine import Database
from aggregator.storage.tables import log_nodes
from client_agent import enrolment as agent_enrolment
from client_agent import epoch, identity, membership, published_prior
from client_agent.api import Api
from fgpr.errors import DataError, Unauthenticated, VerificationError
from support.aggregator import Aggregator, wait_until
from support.backups import again, restored, run
from support.party import refusal
from support.staff import Staff

pytestmark = pytest.mark.usefixtures("logs_as_they_are")


def put_back(aggregator: Aggregator, file: Path) -> None:
    """The backup as it is, and no new epoch."""
    source = Database(f"sqlite:///{file}")
    copying.copy(source, aggregator.context.database)
    source.close()


def test_what_was_signed_or_issued_before_is_worth_nothing(aggregator: Aggregator, tmp_path: Path) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    unused, late = aggregator.party("unused"), aggregator.party("late")
    person = Staff(aggregator, "olga", "operator")
    file = tmp_path / "backup"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "is there already" in run(aggregator, "backup", str(file)).stderr
    # After the backup: a contribution, and a ticket that is taken up.
    parties[0].contribute()
    late.enrol()
    captured = [*parties[0].transport.requests, *late.transport.requests]
    old = restoring.epoch(aggregator.context)
    assert "a new epoch has begun" in restored(aggregator, file).stdout
    assert restoring.epoch(aggregator.context) != old
    before = aggregator.dump()
    assert not before["contributions"]
    puts = [request for request in captured if request.method != "GET"]
    assert len(puts) >= 3
    for request in captured:
        answer = parties[1].transport.again(request)
        assert answer.status_code == (401 if "signature" in request.headers else 200)
    for party in (unused, late):
        assert refusal(party, Unauthenticated, party.enrol)["status"] == 401
    with pytest.raises(Unauthenticated, match="expired"):
        person.enrol()
    assert aggregator.dump() == before
    # The others go on, as soon as they know: their refusal told them.
    assert parties[0].contribute().counted
    fresh = Staff(aggregator, "aude", "auditor")
    assert fresh.ticket.epoch == restoring.epoch(aggregator.context)
    assert fresh.enrol().role == "auditor"


def test_an_agent_is_told_and_goes_on(aggregator: Aggregator, tmp_path: Path) -> None:
    def connect(origin: str, federation: str, key: identity.Ed25519PrivateKey) -> Api:
        return Api(origin, federation, key, clock=aggregator.clock, attempts=1)

    home, told = tmp_path / "home", list[str]()
    agent_enrolment.enrol(home, aggregator.invite("bench-1", "reader"), connect)
    known = membership.load(home)
    assert epoch.load(home) == restoring.epoch(aggregator.context)
    file = tmp_path / "backup"
    run(aggregator, "backup", str(file))
    restored(aggregator, file)
    for expected in ([epoch.RESTORED], [epoch.RESTORED]):
        with Api(
            known.origin,
            known.federation,
            identity.load(home),
            clock=aggregator.clock,
            attempts=1,
            service_key=known.service_key,
            epoch=epoch.load(home),
            on_epoch=epoch.learner(home, told.append),
        ) as api:
            assert published_prior.fetch(home, api).record.version == 0
        assert told == expected, "once"
    assert epoch.load(home) == restoring.epoch(aggregator.context)


def test_a_ticket_names_the_epoch(aggregator: Aggregator) -> None:
    # So that the first request of an agent is not refused.
    party = aggregator.party("bench-1")
    assert party.ticket.epoch == restoring.epoch(aggregator.context)
    party.enrol()
    assert [status for status, _ in party.transport.answers] == [201]


@pytest.mark.parametrize("told", ["x" * 21, "x" * 23, "\u00e9" * 22, "a b" + "x" * 19, 7, None, ["x" * 22]])
def test_an_epoch_of_another_form_is_not_believed(told: object) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        body = {"type": "urn:fgpr:problem:unauthenticated", "detail": "x", "epoch": told}
        return httpx.Response(401, json=body)

    key = identity.Ed25519PrivateKey.generate()
    learned: list[str] = []
    with (
        Api(
            "http://x.invalid",
            "engines",
            key,
            transport=httpx.MockTransport(answer),
            attempts=1,
            on_epoch=learned.append,
        ) as api,
        pytest.raises(Unauthenticated),
    ):
        api.get("rounds/current")
    assert (len(asked), learned) == (1, [])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_old_write_ahead_log_stays_beside_a_restored_file(aggregator: Aggregator, tmp_path: Path) -> None:
    """SQLite would play it into the file that took the old one's place."""
    file = tmp_path / "backup"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    aggregator.enrol(3)
    # As a killed process leaves it, with rows that the file itself does not have yet; and then the file is lost.
    log = aggregator.path.with_name(aggregator.path.name + "-wal")
    rows = log.read_bytes()
    assert len(rows) > 4096
    aggregator.context.database.close()
    aggregator.path.unlink()
    log.write_bytes(rows)
    assert run(aggregator, "restore", str(file), "--lose-entries").exit_code == 0
    assert aggregator.dump()["clients"] == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_restored_through_a_link_the_database_itself_is_replaced(aggregator: Aggregator, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    aggregator.enrol(3)
    log = aggregator.path.with_name(aggregator.path.name + "-wal")
    rows = log.read_bytes()
    aggregator.context.database.close()
    log.write_bytes(rows)
    old = aggregator.path.stat().st_ino
    (tmp_path / "links").mkdir()
    link, other = tmp_path / "links" / "fgpr.db", tmp_path / "other"
    other.symlink_to(aggregator.path)
    link.symlink_to("../other")
    linked = ["--database", f"sqlite:///{link}", "--keys", str(aggregator.settings.keys)]
    result = CliRunner().invoke(app, ["restore", str(file), "--lose-entries", *linked])
    assert result.exit_code == 0, result.output
    assert (link.readlink(), other.readlink()) == (Path("../other"), aggregator.path)
    assert sorted(path.name for path in link.parent.iterdir()) == ["fgpr.db"]
    assert aggregator.path.stat().st_ino != old
    assert aggregator.dump()["clients"] == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_dots_behind_a_link_are_taken_out_before_it_is_followed(aggregator: Aggregator, tmp_path: Path) -> None:
    file, folder = tmp_path / "backup", tmp_path / "elsewhere" / "below"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    aggregator.enrol(3)
    aggregator.context.database.close()
    folder.mkdir(parents=True)
    link = aggregator.path.parent / "link"
    link.symlink_to(folder)
    dotted = ["--database", f"sqlite:///{link}/../{aggregator.path.name}", "--keys", str(aggregator.settings.keys)]
    result = CliRunner().invoke(app, ["restore", str(file), "--lose-entries", *dotted])
    assert result.exit_code == 0, result.output
    assert aggregator.dump()["clients"] == []
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_links_that_lead_back_to_themselves_are_no_place_to_restore_to(aggregator: Aggregator, tmp_path: Path) -> None:
    file, link = tmp_path / "backup", tmp_path / "loop.db"
    assert run(aggregator, "backup", str(file)).exit_code == 0
    link.symlink_to("loop.db")
    linked = ["--database", f"sqlite:///{link}", "--keys", str(aggregator.settings.keys)]
    result = CliRunner().invoke(app, ["restore", str(file), *linked])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"links of {link} lead back to themselves" in result.stderr
    assert link.is_symlink()


def test_an_epoch_that_changes_with_each_answer_is_believed_once(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    asked = []

    def answer(_: httpx.Request) -> httpx.Response:
        asked.append(1)
        body = {"type": "urn:fgpr:problem:unauthenticated", "detail": "x", "epoch": f"{len(asked):022d}"}
        return httpx.Response(401, json=body)

    key = party.client.identity_key
    with (
        Api("http://x.invalid", "engines", key, transport=httpx.MockTransport(answer), attempts=1) as api,
        pytest.raises(Unauthenticated),
    ):
        api.get("rounds/current")
    assert len(asked) == 2


def test_a_log_that_lost_entries_is_not_served(aggregator: Aggregator, tmp_path: Path) -> None:
    aggregator.enrol(2)
    file = tmp_path / "backup"
    run(aggregator, "backup", str(file))
    deadlines = Deadlines(aggregator.context, 0.01)
    aggregator.enrol(1, first=2)
    deadlines.start()
    wait_until(lambda: aggregator.context.keys.remembered() == restoring.newest_note(aggregator.context))
    deadlines.stop()
    again(aggregator)
    # Nor with `restore`, unless the loss is accepted.
    kept = aggregator.dump()
    refused = restored(aggregator, file)
    assert refused.exit_code == 1
    assert "--lose-entries" in refused.stderr
    assert aggregator.dump() == kept
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    # Put back by hand, without a word.
    put_back(aggregator, file)
    with pytest.raises(VerificationError, match=r"has 8 leaves, and a checkpoint of 11 is known \(beside the keys\)"):
        again(aggregator)
    assert "this is an older backup" in run(aggregator, "serve", "--listen", "127.0.0.1:0").stderr
    assert restored(aggregator, file, "--lose-entries").exit_code == 0
    again(aggregator)
    assert len(aggregator.leaves()) == 9
    assert aggregator.kinds()[-1] == "epoch"


def test_a_checkpoint_that_somebody_kept(aggregator: Aggregator, tmp_path: Path) -> None:
    aggregator.enrol(2)
    note = tmp_path / "note"
    note.write_text(restoring.newest_note(aggregator.context))

    def started(file: Path) -> None:
        settings: Settings = aggregator.settings.model_copy(update={"known_checkpoint": file})
        main.create_app(settings, aggregator.context)

    started(note)
    with aggregator.context.database.write() as connection:
        connection.execute(update(log_nodes).values(hash=bytes(32)))
    with pytest.raises(VerificationError, match="are not those of the checkpoint"):
        started(note)
    note.write_text("no note")
    with pytest.raises(DataError, match="is none of this aggregator"):
        started(note)
    with pytest.raises(DataError, match="missing: No such file"):
        started(tmp_path / "missing")


def test_the_answer_of_the_rest_interface_is_a_checkpoint_to_keep(aggregator: Aggregator, tmp_path: Path) -> None:
    aggregator.enrol(1)
    assert run(aggregator, "backup", str(tmp_path / "old")).exit_code == 0
    aggregator.enrol(1, first=1)
    kept = tmp_path / "kept.json"
    kept.write_bytes(httpx.get(f"{aggregator.settings.origin}/v1/log/checkpoint").content)
    assert kept.read_bytes().startswith(b"{")
    main.create_app(aggregator.settings.model_copy(update={"known_checkpoint": kept}), aggregator.context)
    assert run(aggregator, "backup", str(tmp_path / "new")).exit_code == 0
    # Too old for that checkpoint, which only the file knows.
    before = aggregator.dump()
    refused = restored(aggregator, tmp_path / "old", "--known-checkpoint", str(kept))
    assert (refused.exit_code, "with --lose-entries" in refused.stderr) == (1, True), refused.output
    assert f"({kept}): this is an older backup" in refused.stderr
    assert aggregator.dump() == before
    assert "a new epoch" in restored(aggregator, tmp_path / "new", "--known-checkpoint", str(kept)).stdout
    assert (
        "a new epoch"
        in restored(aggregator, tmp_path / "old", "--known-checkpoint", str(kept), "--lose-entries").stdout
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "kept: No such file"),
        (b"", "none of this aggregator"),
        (b"\xff", "cannot read the checkpoint"),
        (b"{}", "what `GET /v1/log/checkpoint` answered belongs there"),
        (b"{", "what `GET /v1/log/checkpoint` answered belongs there"),
        (b"fgpr-log/x\n0\n\n", "none of this aggregator"),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_no_loss_to_accept(
    aggregator: Aggregator, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    assert run(aggregator, "backup", str(tmp_path / "backup")).exit_code == 0
    before = aggregator.dump()
    if content is not None:
        (tmp_path / "kept").write_bytes(content)
    for options in ((), ("--lose-entries",)):
        refused = restored(aggregator, tmp_path / "backup", "--known-checkpoint", str(tmp_path / "kept"), *options)
        (line,) = refused.stderr.strip().splitlines()
        assert (refused.exit_code, reason in line, "--lose-entries" in line) == (1, True, False), line
    assert aggregator.dump() == before


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_with_the_password_in_a_file(aggregator: Aggregator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("not asked for on this socket\n", encoding="utf-8")
    monkeypatch.setenv("FGPR_DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    old = restoring.epoch(aggregator.context)
    assert run(aggregator, "backup", str(tmp_path / "backup")).exit_code == 0
    assert "a new epoch has begun" in restored(aggregator, tmp_path / "backup").stdout
    assert restoring.epoch(aggregator.context) != old
    # It is read, and not passed over.
    (tmp_path / "password").unlink()
    assert "cannot read the database's password" in run(aggregator, "backup", str(tmp_path / "other")).stderr
