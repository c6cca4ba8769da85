import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from aggregator import logs
from aggregator.cli import app
from aggregator.keys import KeyDirectory
from fgpr import signatures
from fgpr.ticket import Ticket
from support.aggregator import free_port

TOML = """
name = "engines"

[model]
kernel = "rbf"
features = [{ name = "cycle", unit = "1", lower = 0.0, upper = 300.0 }]
target = { name = "T24", unit = "degR", scaling = "standardise" }

[rounds]
min_clients = 3
"""


class Cli:
    """The command line with a database and keys of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = ["--database", f"sqlite:///{folder / 'x.db'}", "--keys", str(folder / "keys")]

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, *self.options])

    def done(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.output

    def refused(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 1, result.output
        assert isinstance(result.exception, SystemExit)
        (line,) = result.stderr.strip().splitlines()
        assert line.startswith("fgpr-aggregator: ")
        return line.removeprefix("fgpr-aggregator: ")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("DATABASE", "KEYS", "ORIGIN"):
        monkeypatch.delenv(f"FGPR_{name}", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    # The logs of this process belong to other tests too.
    monkeypatch.setattr(logs, "configure", lambda: None)
    return Cli(tmp_path)


@pytest.fixture
def cli(empty: Cli) -> Cli:
    """With the federation of the file above."""
    assert "is ready" in empty.done("migrate")
    (empty.folder / "f.toml").write_text(TOML, encoding="utf-8")
    assert "federation engines is created" in empty.done("federation", "create", str(empty.folder / "f.toml"))
    return empty


def test_migrating_twice_changes_nothing(empty: Cli) -> None:
    empty.done("migrate")
    service = KeyDirectory(empty.folder / "keys").service()
    empty.done("migrate")
    assert signatures.public_bytes(KeyDirectory(empty.folder / "keys").service()) == signatures.public_bytes(service)


def test_a_database_in_use_takes_no_other_service_key(cli: Cli) -> None:
    """A folder of keys that was lost, or another one named by mistake, must not split the log under two keys."""
    assert cli.run("backup", str(cli.folder / "backup")).exit_code == 0
    mine, cli.options[3] = cli.options[3], str(cli.folder / "others")
    # Nothing there: no key is made for a log that has one.
    for arguments in (("migrate",), ("serve", "--listen", "127.0.0.1:0")):
        assert "service.pem" in cli.refused(*arguments)
    assert not any((cli.folder / "others").iterdir())
    KeyDirectory(cli.folder / "others").ensure_service()
    KeyDirectory(cli.folder / "others").ensure_roster("engines")
    before = sqlite3.connect(cli.folder / "x.db").execute("SELECT size, note FROM log_head").fetchall()
    for arguments in (
        ("migrate",),
        ("serve", "--listen", "127.0.0.1:0"),
        ("invite", "--federation", "engines", "bench"),
        ("revoke", "--federation", "engines", "bench"),
        ("round", "open", "--federation", "engines"),
        ("federation", "pause", "engines", "--reason", "x"),
        ("staff", "invite", "olga", "--role", "operator"),
        ("restore", str(cli.folder / "backup"), "--lose-entries"),
        ("restore", "--lose-entries"),
    ):
        assert "the folder of the keys that belong to this database" in cli.refused(*arguments), arguments
    assert sqlite3.connect(cli.folder / "x.db").execute("SELECT size, note FROM log_head").fetchall() == before
    cli.options[3] = mine
    cli.done("migrate")
    cli.done("invite", "--federation", "engines", "bench")


def head(cli: Cli) -> tuple[int, str]:
    with closing(sqlite3.connect(cli.folder / "x.db")) as connection:
        found: tuple[int, str] = connection.execute("SELECT size, note FROM log_head").fetchone()
    return found


def test_nothing_is_signed_on_a_log_that_lost_entries(cli: Cli) -> None:
    """An older database that was put back by hand would be continued as another history, under the same key."""
    x, old, new, known = (cli.folder / name for name in ("x.db", "old.db", "new.db", "keys/checkpoint.note"))
    shutil.copy(x, old)
    assert head(cli)[0] == 2
    cli.done("invite", "--federation", "engines", "bench")
    assert head(cli)[0] == 3
    # No server ran: the command itself keeps the checkpoint.
    assert known.read_text() == head(cli)[1]
    shutil.copy(x, new)
    shutil.copy(old, x)
    kept, before = known.read_text(), head(cli)
    for arguments in (
        ("invite", "--federation", "engines", "another"),
        ("revoke", "--federation", "engines", "bench"),
        ("round", "open", "--federation", "engines"),
        ("federation", "close", "engines", "--yes", "--reason", "x"),
        ("federation", "create", str(cli.folder / "f.toml")),
        ("staff", "invite", "olga", "--role", "operator"),
    ):
        told = cli.refused(*arguments)
        assert "has 2 leaves, and a checkpoint of 3 is known" in told, arguments
        assert "fgpr-aggregator restore" in told
        assert "--lose-entries" in told
    assert (known.read_text(), head(cli)) == (kept, before)
    shutil.copy(new, x)
    cli.done("invite", "--federation", "engines", "another")


def test_a_new_database_begins_no_second_log_under_the_same_key(cli: Cli) -> None:
    cli.done("backup", str(cli.folder / "backup"))
    mine, cli.options[1] = cli.options[1], f"sqlite:///{cli.folder / 'y.db'}"
    told = cli.refused("migrate")
    assert told.startswith(f"the database {cli.options[1]} is new, and a checkpoint of 2 leaves is known")
    assert "fgpr-aggregator restore FILE" in told
    assert not (cli.folder / "y.db").exists()
    # What it names as the ways on.
    cli.done("restore", str(cli.folder / "backup"))
    cli.done("migrate")
    cli.options[1:] = [f"sqlite:///{cli.folder / 'z.db'}", "--keys", str(cli.folder / "others")]
    cli.done("migrate")
    cli.options[1:] = [mine, "--keys", str(cli.folder / "keys")]
    assert "has 2 leaves, and a checkpoint of 3 is known" in cli.refused("serve", "--listen", "127.0.0.1:0")


def test_a_backup_goes_into_an_empty_database(cli: Cli, empty_database_url: str) -> None:
    cli.done("backup", str(cli.folder / "backup"))
    cli.options[1] = empty_database_url
    cli.done("restore", str(cli.folder / "backup"))
    assert [line["name"] for line in json.loads(cli.done("federation", "list", "--json"))] == ["engines"]


def test_what_is_done_counts_as_done_where_its_checkpoint_cannot_be_kept(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    result = cli.run("invite", "--federation", "engines", "bench")
    assert result.exit_code == 0, result.output
    assert Ticket.from_text(result.stdout.strip()).client == "bench"
    (line,) = result.stderr.splitlines()
    assert line.startswith("fgpr-aggregator: this is done, but its checkpoint is not kept beside the keys: ")


def test_a_replica_whose_copy_of_the_keys_is_older_than_a_federation(cli: Cli) -> None:
    mine, copy = cli.options[3], cli.folder / "copy"
    shutil.copytree(cli.folder / "keys", copy)
    (cli.folder / "late.toml").write_text(TOML.replace('"engines"', '"late"'), encoding="utf-8")
    cli.done("federation", "create", str(cli.folder / "late.toml"))
    cli.options[3] = str(copy)
    # It would be another key than the one with which the federation was created.
    assert cli.refused("federation", "create", str(cli.folder / "late.toml")) == "there is a federation late already"
    assert not (copy / "roster-late.pem").exists()
    # That it is missing is no fault of the database.
    cli.done("doctor")
    KeyDirectory(copy).ensure_roster("late")
    lines = json.loads(cli.run("doctor", "--json").stdout)
    (found,) = [line for line in lines if line["holds"] is False]
    assert found["violations"] == [
        "roster-late.pem beside the keys is not the roster key that the database has for federation late"
    ]
    assert found["remedy"].startswith("suspect the file first: copy roster-late.pem from the replica")
    cli.options[3] = mine
    cli.done("doctor")


def test_before_the_first_migration_each_command_says_what_to_run(empty: Cli) -> None:
    for arguments in (
        ("invite", "--federation", "engines", "bench"),
        ("revoke", "--federation", "engines", "bench"),
        ("round", "list", "--federation", "engines"),
        ("round", "open", "--federation", "engines"),
        ("serve", "--listen", "127.0.0.1:0"),
    ):
        told = empty.refused(*arguments)
        assert told.endswith(f"run `fgpr-aggregator migrate --database {empty.options[1]}`")


def test_a_ticket_carries_what_its_holder_must_trust(cli: Cli) -> None:
    text = cli.done("invite", "--federation", "engines", "bench-1", "--origin", "https://fgpr.example/base/")
    ticket = Ticket.from_text(text)
    keys = KeyDirectory(cli.folder / "keys")
    assert (ticket.origin, ticket.client, ticket.role) == ("https://fgpr.example/base", "bench-1", "client")
    assert ticket.service_key == signatures.public_bytes(keys.service())
    assert ticket.roster_key == signatures.public_bytes(keys.roster("engines"))
    reader = Ticket.from_text(cli.done("invite", "--federation", "engines", "bench-2", "--reader", "--days", "1"))
    assert reader.role == "reader"
    assert reader.secret != ticket.secret


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("invite", "--federation", "nowhere", "bench"), "no federation 'nowhere'"),
        (("invite", "--federation", "engines", "Bench 1"), "PARTY: takes a-z, 0-9 and -, 1 to 64 characters"),
        (("staff", "invite", "A b", "--role", "auditor"), "NAME: takes a-z, 0-9 and -, 1 to 64 characters"),
        (("federation", "pause", "engines", "--reason", ""), "--reason: String should have at least 1 character"),
        (("revoke", "--federation", "engines", "bench"), "no client bench"),
        (("round", "open", "--federation", "engines"), "no clients; invite some"),
        (("round", "open", "--federation", "nowhere"), "no federation 'nowhere'"),
        (("round", "list", "--federation", "nowhere"), "no federation 'nowhere'"),
        (("round", "show", "--federation", "engines", "7"), "no round 7"),
        (("federation", "create", "missing.toml"), "missing.toml: No such file or directory"),
        (("federation", "create", "/"), "/: Is a directory"),
    ],
)
def test_what_cannot_be_done_is_one_line(cli: Cli, arguments: tuple[str, ...], reason: str) -> None:
    assert reason in cli.refused(*arguments)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TOML.encode(), "already"),
        (b"name = ", "other.toml: no TOML: Invalid value"),
        (b"\xff\xfe", "other.toml: not UTF-8: byte 0 is 0xff"),
        (b"name = 'x'", "model"),
        (TOML.replace('"rbf"', '"cubic"').encode(), "cubic"),
        (TOML.replace('"engines"', '"En gines"').encode(), "name"),
        (TOML.replace("300.0", "nan").encode(), "other.toml: model.features.0.upper: nan is not taken"),
        (TOML.replace("300.0", "-1.0").encode(), "not below"),
        ((TOML + f"\n[training]\nsteps = {10**26}\n").encode(), "other.toml: training.steps: a whole number beyond"),
        ((TOML + "\n[aggregation]\ngamma = 1.5\n").encode(), "gamma"),
        ((TOML + "\n[aggregation]\nunknown = 1\n").encode(), "unknown"),
        ((TOML + '\n[aggregation]\ndraw = "weights"\ninvited_cap = 9\n').encode(), "set weighting to 'uniform'"),
        ((TOML + "\n[aggregation]\nwhen = 2031-03-09\n").encode(), "other.toml: aggregation.when: a date or time"),
    ],
)
def test_federation_files_that_are_none(cli: Cli, content: bytes, reason: str) -> None:
    path = cli.folder / "other.toml"
    path.write_bytes(content)
    assert reason in cli.refused("federation", "create", str(path))


def test_a_wrong_variable_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HEAD_SECONDS", "soon"), ("CONNECTIONS", "0"), ("METRICS", "there"), ("ORIGIN", "http://h:x")):
        with monkeypatch.context() as patched:
            patched.setenv(f"FGPR_{name}", value)
            assert cli.refused("migrate").startswith(f"FGPR_{name}: ")


def test_rounds_are_listed(cli: Cli) -> None:
    assert json.loads(cli.done("round", "list", "--federation", "engines", "--json")) == []
    assert "prior" in cli.done("round", "list", "--federation", "engines")


@pytest.mark.parametrize("number", ["2147483648", "3000000000", "99999999999999999999999"])
def test_a_round_s_number_beyond_any_database(cli: Cli, number: str) -> None:
    assert "no round 2147483647" in cli.refused("round", "show", "--federation", "engines", "2147483647")
    result = cli.run("round", "show", "--federation", "engines", number)
    assert result.exit_code == 2, result.output
    assert "2147483647" in result.stderr


def test_a_database_that_is_none(empty: Cli) -> None:
    for url in ("mysql://db", "sqlite:///:memory:"):
        result = CliRunner().invoke(app, ["migrate", "--database", url, "--keys", str(empty.folder / "keys")])
        assert result.exit_code == 1
        assert "database" in result.stderr
        assert "Traceback" not in result.output
    result = CliRunner().invoke(
        app, ["migrate", "--database", f"sqlite:///{empty.folder}/no/x.db", "--keys", str(empty.folder / "keys")]
    )
    assert result.exit_code == 1
    assert f"there is no folder {empty.folder}/no for the database" in result.stderr


@pytest.mark.parametrize("listen", ["8000", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"])
def test_addresses_to_listen_on(cli: Cli, listen: str) -> None:
    result = cli.run("serve", "--listen", listen)
    assert result.exit_code == 2
    assert "HOST:PORT" in result.stderr


def test_serving(cli: Cli) -> None:
    port = free_port()
    command = [sys.executable, "-W", "error", "-m", "aggregator.cli", "serve", "--listen", f"127.0.0.1:{port}"]
    environment = os.environ | {"FGPR_ORIGIN": f"http://127.0.0.1:{port}"}
    with subprocess.Popen([*command, *cli.options], env=environment, stderr=subprocess.PIPE) as process:
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    answer = httpx.get(f"http://127.0.0.1:{port}/v1/log/checkpoint")
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.05)
            assert answer.status_code == 200
            assert answer.json()["note"].startswith("fgpr-log/")
            assert "server" not in answer.headers
        finally:
            process.terminate()
            _, told = process.communicate(timeout=30)
    assert process.returncode in (0, -15)
    assert b"Traceback" not in told
