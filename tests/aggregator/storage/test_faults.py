"""What commands tell of a database that is away or refuses: one line in the driver's words, and no password."""

import re
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url
from typer.testing import CliRunner

from aggregator.cli import app
from aggregator.storage import faults
from aggregator.storage.engine import Database
from fgpr.errors import Unavailable

only_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

COMMANDS = (
    ("migrate",),
    ("doctor",),
    ("invite", "--federation", "engines", "bench"),
    ("serve", "--listen", "127.0.0.1:0"),
)

pytestmark = pytest.mark.usefixtures("logs_as_they_are")


def told(url: str, folder: Path, *command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--database", url, "--keys", str(folder / "keys")])
    assert (result.exit_code, type(result.exception)) == (1, SystemExit), result.output
    (line,) = result.stderr.strip().splitlines()
    return line


@only_postgresql
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"database": "nowhere"}, 'database "nowhere" does not exist'),
        ({"username": "stranger"}, 'role "stranger" does not exist'),
    ],
)
def test_a_server_that_refuses(database_url: str, tmp_path: Path, changed: dict[str, str], reason: str) -> None:
    url = make_url(database_url).set(password="hunter2", **changed).render_as_string(hide_password=False)
    for command in COMMANDS:
        line = told(url, tmp_path, *command)
        assert line.startswith("fgpr-aggregator: the database does not answer: "), line
        assert line.endswith(reason), line
        assert "hunter2" not in line


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere.invalid/x", "the database does not answer: failed to resolve host 'nowhere.invalid'"),
        (
            "127.0.0.1:{port}/x",
            "the database does not answer: connection failed: .*port {port} failed: Connection refu",
        ),
        ("127.0.0.1:{port}/x?bogus=1", 'the database cannot be used: invalid connection option "bogus"'),
        ("127.0.0.1:notaport/x", "FGPR_DATABASE: .*PORT is a number"),
    ],
)
def test_a_server_that_is_not_there(tmp_path: Path, unused_port: int, place: str, reason: str) -> None:
    url = f"postgresql://fgpr:hunter2@{place.format(port=unused_port)}"
    for command in COMMANDS:
        line = told(url, tmp_path, *command)
        assert re.search(reason.format(port=unused_port), line), line
        assert "hunter2" not in line


@only_postgresql
def test_a_role_without_rights(database_url: str, tmp_path: Path) -> None:
    url = make_url(database_url)
    with psycopg.connect(
        url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True
    ) as connection:
        connection.execute("DROP ROLE IF EXISTS fgpr_weak")
        connection.execute("CREATE ROLE fgpr_weak LOGIN")
        try:
            weak = url.set(username="fgpr_weak").render_as_string(hide_password=False)
            for command in COMMANDS:
                line = told(weak, tmp_path, *command)
                assert "permission denied for table alembic_version; name the role that ran `migrate`" in line
                assert "SELECT" not in line
        finally:
            connection.execute("DROP ROLE fgpr_weak")


@only_postgresql
def test_clients_are_told_none_of_it(database_url: str) -> None:
    away = Database(make_url(database_url).set(database="nowhere").render_as_string(hide_password=False))
    with pytest.raises(Unavailable) as caught, away.read():
        pass
    away.close()
    assert str(caught.value) == "the database does not answer: OperationalError"
    assert faults.told(caught.value).endswith('"nowhere" does not exist')
    # As a command wraps it, that was at work on a file.
    wrapped = Unavailable(f"cannot write x: {caught.value}")
    wrapped.__cause__ = caught.value
    assert faults.told(wrapped).startswith("cannot write x: the database does not answer: connection failed: ")


def test_other_errors_are_as_they_are() -> None:
    assert faults.told(Unavailable("not now\nnor later")) == "not now\nnor later"
