"""`fgpr-audit` against a real aggregator over HTTP, by a stranger, by a reader of a closed log, and then without it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner, Result

from client_agent import audit_cli, enrolment
from client_agent.api import Api
from fgpr import canonical
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME


def audit(home: Path, *arguments: object) -> Result:
    environment = {"FGPR_HOME": str(home), "COLUMNS": "200"}
    return CliRunner().invoke(audit_cli.app, [str(one) for one in arguments], env=environment)


def play(aggregator: Aggregator, rounds: int) -> None:
    parties = list(aggregator.parties.values()) or aggregator.enrol(4)
    aggregator.advance()
    for _ in range(rounds):
        for act in ("contribute", "open"):
            for party in parties:
                getattr(party, act)()


def test_a_stranger_with_one_checkpoint(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere, file, kept = tmp_path / "nowhere", tmp_path / "log.jsonl", tmp_path / "kept.txt"
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        origin = aggregator.settings.origin
        play(aggregator, 1)
        # As `curl` writes it.
        kept.write_bytes(httpx.get(f"{origin}/v1/log/checkpoint").content)
        play(aggregator, 2)
        own = canonical.to_text(aggregator.context.service_public())
        size = len(aggregator.raw_leaves())
        for known in ((), ("--service-key", own)):
            done = audit(nowhere, "verify", "--log", origin, "--checkpoint", kept, *known)
            assert (done.exit_code, f"All of it holds: {size} entries" in done.output) == (0, True), done.output
        assert audit(nowhere, "fetch", file, "--log", origin).exit_code == 0
        story = audit(nowhere, "trail", 2, "--log", origin).output
        assert "4 of 4 invited clients contributed" in story
        assert "members opened the sum, 4 were needed" in story
    # The aggregator is gone: it is asked again, without the pauses.
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))
    assert audit(nowhere, "verify", "--log", file, "--checkpoint", kept).exit_code == 0
    proof = json.loads(audit(nowhere, "prove", 3, "--log", file, "--json").output)
    assert proof["federation"] == NAME
    assert audit(nowhere, "verify", "--log", origin).exit_code == 3


def test_a_closed_log_opens_for_whoever_is_enrolled(tmp_path: Path) -> None:
    settings, home = settings_of().model_copy(update={"public_log": False}), tmp_path / "home"
    with served(tmp_path, settings, keeps_deadlines=False) as aggregator:
        # The command's clock is the machine's.
        aggregator.clock.now = datetime.now(UTC)
        aggregator.enrol(4)
        aggregator.advance()
        ticket = aggregator.invite("reader", "reader")
        enrolment.enrol(home, ticket, lambda *arguments, **named: Api(*arguments, **named))
        origin = aggregator.settings.origin
        assert audit(tmp_path / "nowhere", "verify", "--log", origin).exit_code == 3
        done = audit(home, "verify", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.output)["entries"] == len(aggregator.raw_leaves())
