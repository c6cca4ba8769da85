"""The log of an aggregator as `fgpr-audit` reads it: what it demands, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from client_agent import audit_cli, audited_log
from fgpr.auditlog.bundle import Bundle
from fgpr.errors import DataError
from support.agent_home import AgentHome
from support.audited import OverHttp, note_of
from support.federation import Federation
from support.forged_log import position_of, state

ADDRESS = "http://aggregator.invalid"


def test_fetch_goes_on_where_it_was(
    audit: Callable[..., Result], online: OverHttp, made: Federation, tmp_path: Path, kept: Path
) -> None:
    path = tmp_path / "fetched.jsonl"
    online.leaves_hidden = 10
    done = audit("fetch", path, "--log", ADDRESS)
    assert (done.exit_code, f"{len(made.log.leaves) - 10} new entries" in done.output) == (0, True)
    online.leaves_hidden = 0
    done = audit("fetch", path, "--log", ADDRESS, "--checkpoint", kept)
    assert "10 new entries" in done.output
    assert "0 new entries" in audit("fetch", path, "--log", ADDRESS).output
    with path.open("rb") as raw:
        bundle = Bundle.read(raw)
    assert bundle.leaves == tuple(made.log.leaves)
    assert [position.size for position in bundle.positions()] == [len(made.log.leaves) - 10, len(made.log.leaves)]
    assert audit("verify", "--log", path).exit_code == 0


def test_fetch_refuses_a_rollback_and_a_fork_and_keeps_what_it_has(
    audit: Callable[..., Result], online: OverHttp, made: Federation, tmp_path: Path
) -> None:
    path = tmp_path / "fetched.jsonl"
    audit("fetch", path, "--log", ADDRESS)
    before, size = path.read_bytes(), len(made.log.leaves)
    online.leaves_hidden = 1
    done = audit("fetch", path, "--log", ADDRESS)
    assert done.exit_code == 1
    assert f"the log went back: it was held with {size} leaves" in done.output
    online.leaves_hidden = 0
    other = Federation(5, logs_all=True)
    other.service_key, other.anchors = made.service_key, made.anchors
    other.log.leaves[:] = [*made.log.leaves[:-1], state("resumed").encode(), state("paused").encode()]
    online.federation = other
    done = audit("fetch", path, "--log", ADDRESS)
    assert (done.exit_code, "the log is another one: it was held with" in done.output) == (1, True)
    assert path.read_bytes() == before


def test_online_as_from_a_bundle(audit: Callable[..., Result], online: OverHttp, kept: Path, file: Path) -> None:
    for arguments in (("verify",), ("trail", "4"), ("prove", "3")):
        there = audit(*arguments, "--log", ADDRESS, "--checkpoint", kept, "--json")
        here = audit(*arguments, "--log", file, "--checkpoint", kept, "--json")
        assert there.exit_code == here.exit_code == 0
        assert json.loads(there.output) == json.loads(here.output)
    assert audit("compare", kept, kept, "--log", ADDRESS).exit_code == 0
    online.change["log/entries"] = lambda page: page.model_copy(update={"start": page.start + 1})
    assert audit("verify", "--log", ADDRESS).exit_code == 3


def test_an_address_is_reached_by_the_owners_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text("[connection]\nproxy = 'http://proxy.example:3128'\n")
    seen: list[object] = []

    def api(*_: object, **given: object) -> None:
        seen.append(given["proxy"])
        raise DataError("no net in this test")

    monkeypatch.setattr(audited_log, "Api", api)
    with pytest.raises(DataError, match="no net"), audited_log.connected(ADDRESS, tmp_path, None):
        pass
    assert seen == ["http://proxy.example:3128"]


def test_compare_asks_the_aggregator_for_the_proof(
    audit: Callable[..., Result], online: OverHttp, made: Federation, kept: Path, tmp_path: Path
) -> None:
    newest = tmp_path / "newest.txt"
    newest.write_text(note_of(made, made.log.leaves), encoding="utf-8")
    assert audit("compare", kept, newest, "--log", ADDRESS).exit_code == 0
    online.change["consistency"] = lambda proof: proof.model_copy(update={"hashes": proof.hashes[::-1]})
    assert audit("compare", kept, newest, "--log", ADDRESS).exit_code == 1


def test_an_aggregator_that_shows_another_key_than_it_signs_with(
    audit: Callable[..., Result], online: OverHttp, made: Federation
) -> None:
    online.change["checkpoint"] = lambda view: view.model_copy(update={"service_key": made.anchors.roster_key})
    done = audit("verify", "--log", ADDRESS)
    assert (done.exit_code, "that is another log" in done.output) == (1, True)


def test_the_home_of_an_agent_counts(made: Federation, online: OverHttp, tmp_path: Path) -> None:
    home = AgentHome(made, "client-00", tmp_path / "home", role="reader").home
    (home / "checkpoint.json").write_bytes(position_of(made.log.leaves[:9]).encode())
    environment = {"FGPR_HOME": str(home), "COLUMNS": "200"}
    done = CliRunner().invoke(audit_cli.app, ["verify", "--log", ADDRESS], env=environment)
    assert (done.exit_code, f"held in {home / 'checkpoint.json'}: 9 leaves" in done.output) == (0, True)
    (home / "checkpoint.json").write_bytes(position_of(made.log.leaves[1:9]).encode())
    assert CliRunner().invoke(audit_cli.app, ["verify", "--log", ADDRESS], env=environment).exit_code == 1
    (home / "checkpoint.json").write_bytes(b"{")
    assert CliRunner().invoke(audit_cli.app, ["verify", "--log", ADDRESS], env=environment).exit_code == 3
    assert online.requests > 0
