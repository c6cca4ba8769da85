"""Fixtures of the commands' tests: an agent whose requests go to a federation in memory, and `fgpr-audit`'s log."""

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from client_agent import audit_cli
from support.agent_home import AgentHome, InMemory
from support.audited import OverHttp, bundle_of, note_of
from support.federation import Federation
from support.forged_log import played

ME = "client-00"
"""The client whose agent is tested."""


@pytest.fixture
def aggregator(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Every HTTP request of this process goes to the federation in memory, which the test module makes."""
    connection = InMemory(federation, ME, threading.Event())
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: connection.handle(request))
    return connection


@pytest.fixture
def home(aggregator: InMemory, tmp_path: Path) -> Path:
    return AgentHome(aggregator.federation, ME, tmp_path / "home").home


@cache
def _made() -> Federation:
    return played()


@pytest.fixture
def made() -> Federation:
    return _made()


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., Result]:
    def run(*arguments: str | Path) -> Result:
        environment = {"FGPR_HOME": str(tmp_path / "nowhere"), "COLUMNS": "200"}
        return CliRunner().invoke(audit_cli.app, [str(one) for one in arguments], env=environment)

    return run


@pytest.fixture
def file(made: Federation, tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    bundle_of(made, path=path)
    return path


@pytest.fixture
def kept(made: Federation, tmp_path: Path) -> Path:
    """A checkpoint that somebody kept after 20 leaves."""
    path = tmp_path / "kept.txt"
    path.write_text(note_of(made, made.log.leaves[:20]), encoding="utf-8")
    return path


@pytest.fixture
def online(made: Federation, monkeypatch: pytest.MonkeyPatch) -> OverHttp:
    connection = OverHttp(made, "client-00", threading.Event())
    monkeypatch.setattr("support.agent_home.MOST_REQUESTS", 10_000)
    monkeypatch.setattr("client_agent.audited_log.Api", lambda *_, **__: connection)
    return connection
