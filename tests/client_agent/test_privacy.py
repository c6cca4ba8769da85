"""An agent and its privacy ledger: charged before anything is written, never twice, never past the budget."""

import errno
import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from client_agent import contribution, ledger
from client_agent.cli import app
from client_agent.events import Kind
from client_agent.journal import Journal
from client_agent.ledger import Charge, Charges, Ledger
from fgpr.errors import EncodingError, PlanRefused
from fgpr.federated import accounting
from fgpr.federated.accounting import Budget
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from fgpr.secagg.stages import Event
from support import agent_home
from support.agent_home import AgentHome, Killed
from support.federation import Federation

ME, *OTHERS = [f"client-{number:02d}" for number in range(5)]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}
RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=2.0))
RHO = 1 / 8
"""Of one round: 1 / (2 z^2)."""


@pytest.fixture
def federation() -> Federation:
    return Federation(5, RULES)


@pytest.fixture
def agent(federation: Federation, tmp_path: Path) -> AgentHome:
    return AgentHome(federation, ME, tmp_path / "home")


def finish(federation: Federation) -> None:
    """The others' part of a round to which this client contributed."""
    for name in OTHERS:
        federation.contribute(name, federation.prior.vector())
    federation.close()
    for name in OTHERS:
        federation.open(name)
    federation.finish()


def charged(agent: AgentHome) -> list[int]:
    return [charge.round for charge in ledger.read(agent.home).charges]


def contributed(agent: AgentHome) -> set[int]:
    return {int(path.parent.name) for path in agent.home.glob("rounds/*/contribution.json")}


def test_each_round_is_charged_what_its_plan_costs(federation: Federation, agent: AgentHome) -> None:
    for number in (1, 2):
        agent_home.plan(federation)
        assert Kind.CONTRIBUTED in agent.run(ROWS)
        charges = ledger.read(agent.home).charges
        assert [charge.round for charge in charges] == list(range(1, number + 1))
        assert charges[-1] == Charge(round=number, clip=2**20, sigma=2**21, carriers=3, numbers=3, rho=RHO)
        # Started again in the same round, it sends the same bytes and charges nothing.
        agent.connect()
        agent.run(ROWS)
        assert len(charged(agent)) == number
        finish(federation)


@pytest.mark.parametrize(
    ("rules", "told"),
    [(RULES, "this first plan adds noise of multiplier 2, later"), (None, "this first plan adds no noise")],
)
def test_the_owner_is_told_at_the_first_plan_which_noise_there_is(
    rules: AggregationRules | None, told: str, tmp_path: Path
) -> None:
    federation = Federation(5, rules)
    agent = AgentHome(federation, ME, tmp_path / "home")
    agent_home.plan(federation)
    agent.run(ROWS)
    assert told in next(event.text for event in agent.events if event.kind is Kind.CHECKED)
    finish(federation)
    agent_home.plan(federation)
    agent.connect()
    agent.run(ROWS)
    later = [event.text for event in agent.events if event.kind is Kind.CHECKED and event.round == 2]
    assert later
    assert all("first plan" not in text for text in later)


def test_a_federation_without_noise_charges_nothing(tmp_path: Path) -> None:
    federation = Federation(5)
    agent = AgentHome(federation, ME, tmp_path / "home")
    agent_home.plan(federation)
    assert Kind.CONTRIBUTED in agent.run(ROWS)
    assert not (agent.home / ledger.FILE_NAME).exists()


def test_a_round_past_the_budget_is_refused_before_anything_is_trained(
    federation: Federation, agent: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(epsilon=accounting.epsilon(2 * RHO, 1e-6), delta=1e-6)
    for _ in range(2):
        agent_home.plan(federation)
        assert Kind.CONTRIBUTED in agent.run(ROWS, budget=budget)
        finish(federation)
    agent_home.plan(federation)
    monkeypatch.setattr(contribution, "train", lambda *_, **__: pytest.fail("it trained"))
    assert Kind.CONTRIBUTED not in agent.run(ROWS, budget=budget)
    refused = [event for event in agent.events if isinstance(event.error, PlanRefused)][-1]
    assert refused.kind is Kind.SKIPPED
    assert "check 17 of a plan: epsilon" in refused.text
    assert "nothing was trained" in refused.text
    assert (charged(agent), contributed(agent)) == ([1, 2], {1, 2})
    # It still serves on the committee.
    for name in OTHERS:
        federation.contribute(name, federation.prior.vector())
    federation.close()
    assert Kind.OPENED in agent.run(ROWS, budget=budget)
    for name in OTHERS:
        federation.open(name)
    federation.finish()


def test_with_a_budget_a_plan_without_noise_is_refused(tmp_path: Path) -> None:
    federation = Federation(5)
    agent = AgentHome(federation, ME, tmp_path / "home")
    agent_home.plan(federation)
    assert Kind.CONTRIBUTED not in agent.run(ROWS, budget=Budget(epsilon=1000.0))
    assert "it adds no noise" in agent.events[-1].text


def test_a_plan_below_the_owner_s_noise_is_refused(federation: Federation, agent: AgentHome) -> None:
    agent_home.plan(federation)
    assert agent.run(ROWS, floors=Floors(noise=2.5)) == [Kind.REFUSED]
    assert "check 16 of a plan: noise multiplier 2 is below this client's 2.5" in agent.events[-1].text
    assert charged(agent) == []


def test_aborted_void_and_carried_rounds_stay_charged(federation: Federation, agent: AgentHome) -> None:
    for number, proven in ((1, True), (2, False)):
        agent_home.plan(federation)
        assert Kind.CONTRIBUTED in agent.run(ROWS)
        federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
        if proven:
            agent.run(ROWS)
            for name in OTHERS:
                federation.open(name)
        federation.settle()
        agent.run(ROWS)
        assert charged(agent) == list(range(1, number + 1))
    agent_home.plan(federation)
    assert Kind.CONTRIBUTED in agent.run(ROWS)
    assert ledger.read(agent.home).rho == pytest.approx(3 * RHO)


def test_a_kill_between_charge_and_contribution_charges_the_round_once(
    federation: Federation, agent: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_home.plan(federation)
    link = os.link

    def kill(source: Any, target: Any, **options: Any) -> None:
        if Path(target).name == "contribution.json":
            raise Killed
        link(source, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", kill)
        with pytest.raises(Killed):
            agent.run(ROWS)
    assert (charged(agent), contributed(agent)) == ([1], set())
    assert agent.connection.puts == []
    # The budget has room for one round: that one, which is paid for.
    once = Budget(epsilon=accounting.epsilon(RHO, 1e-5))
    assert Kind.CONTRIBUTED in agent.run(ROWS, budget=once)
    assert (charged(agent), contributed(agent)) == ([1], {1})


@pytest.mark.parametrize("call", ["fsync", "link", "replace"])
def test_no_crash_at_any_write_leaves_a_contribution_uncharged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = getattr(os, call)
    for nth in count(1):
        federation = Federation(5, RULES)
        agent = AgentHome(federation, ME, tmp_path / str(nth))
        agent_home.plan(federation)
        calls = count(1)

        def fail(*args: Any, nth: int = nth, calls: Any = calls, **options: Any) -> Any:
            if next(calls) == nth:
                raise OSError(errno.EIO, "Input/output error")
            return real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            try:
                agent.run(ROWS)
            except OSError:
                assert contributed(agent) <= set(charged(agent))
        agent.run(ROWS)
        assert (charged(agent), contributed(agent)) == ([1], {1})
        if next(calls) <= nth:
            break
    assert nth > 1


def test_a_ledger_that_is_gone_stops_the_agent(federation: Federation, agent: AgentHome) -> None:
    agent_home.plan(federation)
    agent.run(ROWS)
    (agent.home / ledger.FILE_NAME).unlink()
    with pytest.raises(EncodingError, match="the contribution to round 1 is in no ledger"):
        agent.run(ROWS)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"charges":[{"round":1}]}', b'{"charges":[],"more":1}'])
def test_a_damaged_ledger_stops_the_agent(agent: AgentHome, raw: bytes) -> None:
    (agent.home / ledger.FILE_NAME).write_bytes(raw)
    with pytest.raises(EncodingError, match=r"privacy.json is damaged .* restore it from a backup"):
        Journal(agent.home)


def test_one_encoding_and_one_decoding(tmp_path: Path, federation: Federation) -> None:
    terms = federation.plan().message.differential_privacy
    assert terms is not None
    book = Ledger(tmp_path)
    book.charge(4, terms)
    book.charge(4, terms)
    book.charge(9, terms)
    assert Ledger(tmp_path).charges == book.charges
    assert Charges.decode(book.charges.encode()) == book.charges
    assert book.charges.rounds() == {4, 9}


def test_the_command_tells_what_was_spent_and_what_is_left(federation: Federation, agent: AgentHome) -> None:
    for _ in range(2):
        agent_home.plan(federation)
        agent.run(ROWS)
        finish(federation)
    spent = accounting.epsilon(2 * RHO, 1e-6)
    arguments = ["privacy", "--home", str(agent.home), "--epsilon", "9", "--delta", "1e-6"]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0
    assert f"client-00 of engines: 2 rounds cost epsilon {spent:.4g} at delta 1e-06" in told.stdout
    assert f"epsilon {9 - spent:.4g} of 9 is left" in told.stdout
    made = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert made["epsilon"] == spent
    assert made["epsilon_replaced"] == accounting.epsilon(8 * RHO, 1e-6)
    assert made["left"] == 9 - spent
    assert [line["round"] for line in made["rounds"]] == [1, 2]


def test_the_command_before_any_round_and_with_a_budget_that_makes_no_sense(agent: AgentHome) -> None:
    told = CliRunner().invoke(app, ["privacy", "--home", str(agent.home), "--json"])
    made = json.loads(told.stdout)
    assert (made["epsilon"], made["budget"], made["left"], made["rounds"]) == (0.0, None, None, [])
    for option, value in (("--epsilon", "0"), ("--delta", "1"), ("--delta", "0"), ("--epsilon", "-1")):
        refused = CliRunner().invoke(app, ["privacy", "--home", str(agent.home), option, value])
        assert refused.exit_code == 2
    nowhere = CliRunner().invoke(app, ["privacy", "--home", str(agent.home / "nowhere")])
    assert nowhere.exit_code == 1
    assert "enrolled nowhere" in nowhere.stderr
