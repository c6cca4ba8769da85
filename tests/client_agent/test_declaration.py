"""What an agent declares of its rows: once, before anything is sent, and only where it is asked."""

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from client_agent import declaration, enrolment
from client_agent.api import Api
from client_agent.cli import app
from fgpr import signatures
from fgpr.errors import EncodingError, LocalProtocolError, Unavailable
from fgpr.ticket import Ticket
from support import agent_home
from support.agent_home import InMemory
from support.client import NAME
from support.federation import Federation

SERVICE_KEY = Federation(4).anchors.service_key
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ROWS = "unit,cycle,T24\n1,1,642.0\n1,2,641.5\n2,1,642.5\n2,2,643.0\n2,3,642.8\n"


def ticket(weight_cap: int | None = 1_000, **changes: Any) -> Ticket:
    fields: dict[str, Any] = {
        "origin": agent_home.ORIGIN,
        "federation": NAME,
        "client": "new-one",
        "role": "client",
        "secret": bytes(range(32)),
        "expires": "2031-03-09T21:30:00.000Z",
        "service_key": SERVICE_KEY,
        "roster_key": bytes(32),
        "suite": "x25519",
        "weight_cap": weight_cap,
    }
    return Ticket(**fields | changes)


@pytest.fixture
def aggregator(monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Every HTTP request of this process goes to a federation in memory."""
    connection = InMemory(Federation(4), "new-one", threading.Event())
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: connection.handle(request))
    return connection


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def fgpr_agent(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(("rows", "weight"), [(1, 1), (999, 999), (1_000, 1_000), (50_000, 1_000)])
def test_rows_up_to_the_cap_under_the_own_key(tmp_path: Path, rows: int, weight: int) -> None:
    signed = declaration.make(tmp_path, ticket(), rows, KEY)
    assert signed is not None
    signed.verify(signatures.public_bytes(KEY))
    assert signed.message.to_json() == {"federation": NAME, "client": "new-one", "weight": weight}


@pytest.mark.parametrize("rows", [None, 0, -3])
def test_asked_and_without_rows(tmp_path: Path, rows: int | None) -> None:
    with pytest.raises(LocalProtocolError, match=r"draws its clients by the number of their rows.*everybody can read"):
        declaration.make(tmp_path, ticket(), rows, KEY)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_declared_where_nothing_is_asked(tmp_path: Path) -> None:
    assert declaration.make(tmp_path, ticket(None), 7, KEY) is None
    assert list(tmp_path.iterdir()) == []
    assert declaration.load(tmp_path) is None


def test_the_first_declaration_stands(tmp_path: Path) -> None:
    first = declaration.make(tmp_path, ticket(), 7, KEY)
    assert declaration.make(tmp_path, ticket(), 9, KEY) == first
    assert declaration.make(tmp_path, ticket(), None, KEY) == first


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / declaration.FILE_NAME).write_bytes(b"{")
    with pytest.raises(EncodingError, match=r"declared-weight\.json is damaged"):
        declaration.load(tmp_path)


def test_enrol_counts_the_rows_and_says_what_it_declares(aggregator: InMemory, data: Path, tmp_path: Path) -> None:
    text = ticket().to_text()
    done = fgpr_agent("enrol", "--ticket", text, "--home", tmp_path / "home", "--data", data, "--unit", 2)
    assert done.exit_code == 0, done.output
    assert "declared 3 rows: everybody can read this in the roster and the audit log" in done.output
    sent = aggregator.enrolled["new-one"].declared
    assert sent is not None
    assert sent.message.weight == 3
    sent.verify(aggregator.enrolled["new-one"].identity_key)


@pytest.mark.usefixtures("aggregator")
def test_rows_are_counted_as_agent_toml_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "agent.toml").write_text(
        f"[data]\nfile = '{tmp_path / 'fleet.csv'}'\nunit = 7\nmissing = [-999]\n[columns.T24]\nfrom = 'LPC outlet'\n"
    )
    # Of unit 7, one row has a hole; the last line may be half of one; notes are no numbers.
    (tmp_path / "fleet.csv").write_text(
        "unit,cycle,LPC outlet,note\n6,1,640,a\n7,1,641,b\n7,2,-999,c\n7,3,642,\n7,4,64"
    )
    done = fgpr_agent("enrol", "--ticket", ticket().to_text(), "--home", home)
    assert done.exit_code == 0, done.output
    assert "declared 2 rows" in done.output


def test_enrol_without_data_tells_what_would_be_shown_and_sends_nothing(aggregator: InMemory, tmp_path: Path) -> None:
    done = fgpr_agent("enrol", "--ticket", ticket().to_text(), "--home", tmp_path / "home")
    assert done.exit_code == 1
    assert "name your data" in done.stderr
    assert aggregator.enrolled == {}


def test_data_are_not_even_read_where_nobody_asks(aggregator: InMemory, tmp_path: Path) -> None:
    text = ticket(None).to_text()
    done = fgpr_agent("enrol", "--ticket", text, "--home", tmp_path / "home", "--data", tmp_path / "missing.csv")
    assert done.exit_code == 0, done.output
    assert "declared" not in done.output
    assert aggregator.enrolled["new-one"].declared is None


def test_a_lost_answer_is_asked_for_with_the_same_declaration(aggregator: InMemory, tmp_path: Path) -> None:
    def lose(_: int) -> None:
        raise httpx.ReadError("reset")

    aggregator.after = lose
    with pytest.raises(Unavailable):
        enrolment.enrol(tmp_path / "home", ticket(), lambda *given: Api(*given, attempts=1), rows=7)
    first = aggregator.enrolled["new-one"].declared
    aggregator.after = lambda _: None
    enrolment.enrol(tmp_path / "home", ticket(), rows=9)
    assert aggregator.enrolled["new-one"].declared == first
    assert first is not None
    assert first.message.weight == 7
