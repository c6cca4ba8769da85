"""`fgpr-operator` over a real aggregator."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from aggregator.service import staff as staff_service
from client_agent import identity, operator_cli, staff
from client_agent.api import Api
from fgpr import signatures
from support.aggregator import Aggregator, served
from support.client import NAME


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as made:
        yield made


class Operator:
    """`fgpr-operator` with a home of its own, against the aggregator's clock."""

    def __init__(self, aggregator: Aggregator, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home

        def connect_to(post: staff.Post, key: Ed25519PrivateKey) -> Api:
            return Api(post.origin, "-", key, clock=aggregator.clock, attempts=1)

        monkeypatch.setattr(staff, "connect_to", connect_to)
        for function in (staff.enrol, staff.rotate_key):
            monkeypatch.setattr(function, "__defaults__", (connect_to,))

    def run(self, *arguments: str) -> str:
        result = CliRunner().invoke(operator_cli.app, [*arguments, "--home", str(self.home)])
        assert result.exit_code == 0, result.output
        return result.output

    def refused(self, *arguments: str) -> str:
        result = CliRunner().invoke(operator_cli.app, [*arguments, "--home", str(self.home)])
        assert result.exit_code == 1, result.output
        assert result.stderr.startswith("fgpr-operator: ")
        return result.stderr


def test_an_operator_s_command_line(aggregator: Aggregator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator(aggregator, tmp_path / "operator", monkeypatch)
    assert "enrol with a ticket first" in operator.refused("federations")
    ticket = staff_service.invite(aggregator.context, "olga", "operator").to_text()
    (tmp_path / "ticket").write_text(ticket)
    assert "enrolled as olga, operator" in operator.run("enrol", "--ticket", f"@{tmp_path / 'ticket'}")
    assert "olga's already" in operator.refused("enrol", "--ticket", ticket)
    assert "copied whole" in Operator(aggregator, tmp_path / "other", monkeypatch).refused(
        "enrol", "--ticket", "fgpr1.x"
    )
    here = ("--federation", NAME)
    (tmp_path / "f.toml").write_text(
        'name = "new"\n[model]\nkernel = "rbf"\n'
        'features = [{ name = "cycle", unit = "1", lower = 0.0, upper = 300.0 }]\n'
        'target = { name = "T24", unit = "degR", scaling = "standardise" }\n'
    )
    assert "federation new is created" in operator.run("create", str(tmp_path / "f.toml"))
    assert "already" in operator.refused("create", str(tmp_path / "f.toml"))
    (tmp_path / "g.toml").write_text("[model]\nwhen = 2031-03-09\n", encoding="utf-8")
    assert f"{tmp_path / 'g.toml'}: model.when: a date or time" in operator.refused("create", str(tmp_path / "g.toml"))
    assert [line["name"] for line in json.loads(operator.run("federations"))] == [NAME, "new"]
    assert operator.run("invite", "bench-1", *here).startswith("fgpr1.")
    aggregator.enrol(4)
    assert [line["client"] for line in json.loads(operator.run("clients", *here))] == [f"client-0{n}" for n in range(4)]
    assert "round 1 is open" in operator.run("open-round", *here)
    assert json.loads(operator.run("rounds", *here))[0]["round"] == 1
    assert json.loads(operator.run("round", "1", *here))["summary"]["stage"] == "contributing"
    assert "client-03 is revoked" in operator.run("revoke", "client-03", *here)
    assert "is paused" in operator.run("pause", "--reason", "sensors", *here)
    assert "is open" in operator.run("resume", "--reason", "ready", *here)
    assert "was not carried" in operator.refused("release", "--reason", "gone", "--yes", *here)
    before = identity.load(operator.home)
    operator.run("rotate-key")
    assert signatures.public_bytes(identity.load(operator.home)) != signatures.public_bytes(before)
    assert "is closed" in operator.run("close", "--reason", "done", "--yes", *here)
    assert "olga is revoked" in operator.run("leave", "--yes")
    assert "was revoked" in operator.refused("federations")
