"""Case E12: slow answers, lost ones, and a server that never comes. `test_api.py` has each kind of failure."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from client_agent.api import Api
from client_agent.cli import app
from fgpr import signatures
from fgpr.ticket import Ticket
from support.aggregator import free_port
from support.failing_server import RECEIPT, Failing, http

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
# Without the notice a client may send its next request into a connection that is gone, an attempt without an answer.
UNAVAILABLE = http("503 Busy", b"", "Retry-After: 0", "Connection: close")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, in seconds, which are not waited for."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.mark.slow
def test_an_answer_after_eight_seconds_is_taken_with_the_settings_of_every_day() -> None:
    server = Failing((RECEIPT, False), delay=8.0)
    with Api(server.origin, "turbofan", KEY) as api:
        assert api.put("x", b'{"a":1}') == b"receipt"
    server.join()
    # Once: the first attempt was waited for.
    assert server.bodies == [b'{"a":1}']


def ticket(origin: str) -> Ticket:
    public = signatures.public_bytes(KEY)
    return Ticket(
        origin=origin,
        federation="engines",
        client="engine-1",
        role="client",
        secret=bytes(range(32)),
        expires="2999-03-09T21:30:00.000Z",
        service_key=public,
        roster_key=public,
        suite="x25519",
        weight_cap=None,
    )


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False], ids=["always busy", "nobody listens"])
def test_attempts_end_in_bounded_time_with_an_exit_code_and_a_reason(
    tmp_path: Path, waits: list[float], there: bool
) -> None:
    server = Failing(*[(UNAVAILABLE, True)] * 6) if there else None
    origin = server.origin if server else f"http://127.0.0.1:{free_port()}"
    words = ["enrol", "--ticket", ticket(origin).to_text(), "--home", str(tmp_path / "home")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("fgpr-agent: POST /v1/enrolments: ")
    assert ("answered 503" if there else f"no answer from {origin}: ConnectError") in line
    assert len(waits) == 5
    assert sum(waits) < 30
    if server:
        server.join()
        assert len(set(server.bodies)) == 1
        assert len(server.bodies) == 6
