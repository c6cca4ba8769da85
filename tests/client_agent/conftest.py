"""Fixtures of `fgpr-audit`'s tests."""

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from client_agent import audit_cli
from support.audited import OverHttp, bundle_of, note_of
from support.federation import Federation
from support.forged_log import played


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
