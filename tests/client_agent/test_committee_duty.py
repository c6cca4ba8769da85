"""What an agent reads of the audit log before it opens a cohort, and what it remembers of it."""

import json
from pathlib import Path

import numpy as np
import pytest

from client_agent.events import Kind
from client_agent.journal import Journal
from fgpr import merkle
from fgpr.errors import CohortRefused
from fgpr.message import Signed
from fgpr.rest import LogEntries
from fgpr.secagg import opening
from fgpr.secagg.messages import Cohort
from fgpr.secagg.stages import Event, Stage
from support import agent_home
from support.agent_home import AgentHome, Killed
from support.federation import Federation

ME, *OTHERS = [f"client-{number:02d}" for number in range(5)]
GONE = OTHERS[-1]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}


@pytest.fixture
def federation() -> Federation:
    return Federation(5)


@pytest.fixture
def agent(federation: Federation, tmp_path: Path) -> AgentHome:
    return AgentHome(federation, ME, tmp_path / "home")


def contribute(federation: Federation, agent: AgentHome) -> None:
    agent_home.plan(federation)
    agent.run(ROWS)
    for name in OTHERS:
        federation.contribute(name, np.array([0.1, -0.9, 3.0]), 10)


def close_over_all(federation: Federation) -> None:
    """Close as a malicious aggregator does: everybody, revoked or not, at the present checkpoint."""
    state, plan = federation.now, federation.now.plan.message
    headers = {name: sent.header.message for name, sent in state.contributions.items()}
    cohort = opening.cohort_of(plan, plan.digest(), headers, federation.log.position())
    state.stage, state.cohort = Stage.OPENING, Signed[Cohort].make(federation.service_key, cohort)


def publish(federation: Federation) -> None:
    for name in OTHERS:
        federation.open(name)
    federation.finish()


def pages(agent: AgentHome) -> list[tuple[int, int]]:
    """From where to where the leaves are that the agent gets from now on."""
    got: list[tuple[int, int]] = []

    def note(page: LogEntries) -> LogEntries:
        got.append((page.start, page.end))
        return page

    agent.connection.change["log/entries"] = note
    return got


def cohort_size(federation: Federation, number: int) -> int:
    cohort = federation.rounds[number].cohort
    assert cohort is not None
    return cohort.message.checkpoint.size


def assert_refused(agent: AgentHome) -> None:
    assert agent.run(ROWS)[-1] is Kind.REFUSED
    error = agent.events[-1].error
    assert isinstance(error, CohortRefused)
    assert error.check == 6
    assert f"{GONE} revoked" in str(error)
    assert not [path for path, _ in agent.connection.puts if "openings" in path]


def test_revoked_between_the_roster_and_the_plan(federation: Federation, agent: AgentHome) -> None:
    federation.revoke(GONE)
    contribute(federation, agent)
    assert GONE in federation.now.plan.message.invited
    close_over_all(federation)
    assert_refused(agent)
    federation.now.stage = Stage.CONTRIBUTING
    federation.close()
    agent.connect()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.OPENED]


def test_revoked_while_the_theta_is_carried(federation: Federation, agent: AgentHome) -> None:
    agent_home.plan(federation)
    federation.abort(Event.TOO_FEW_CONTRIBUTIONS)
    federation.settle()
    federation.revoke(GONE)
    contribute(federation, agent)
    close_over_all(federation)
    assert_refused(agent)


def test_a_second_round_reads_the_new_leaves_only(federation: Federation, agent: AgentHome) -> None:
    federation.revoke(GONE)
    contribute(federation, agent)
    federation.close()
    first = pages(agent)
    agent.run(ROWS)
    # The aggregator in memory gives two leaves a page: prior and revocation, then the plan.
    assert first == [(0, 2), (2, 3)]
    publish(federation)
    contribute(federation, agent)
    close_over_all(federation)
    agent.connect()
    second = pages(agent)
    assert_refused(agent)
    assert (second[0][0], second[-1][1]) == (cohort_size(federation, 1), cohort_size(federation, 2))
    # The revocation is in none of them, and was remembered.
    assert second[0][0] > federation.log.leaves.index(revocation(federation))


def revocation(federation: Federation) -> bytes:
    (leaf,) = (leaf for leaf in federation.log.leaves if json.loads(leaf)["kind"] == "revoked")
    return leaf


def test_killed_between_what_was_read_and_the_opening(
    federation: Federation, agent: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation.revoke(GONE)
    contribute(federation, agent)
    federation.close()

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write_opening", die)
        with pytest.raises(Killed):
            agent.run(ROWS)
    size = cohort_size(federation, 1)
    honest = federation.now.cohort
    # The leaves are known; a cohort that counts who they revoke is refused, at that checkpoint too.
    close_over_all(federation)
    state = federation.now
    assert state.cohort is not None
    assert honest is not None
    moved = state.cohort.message.model_copy(update={"checkpoint": honest.message.checkpoint})
    state.cohort = Signed[Cohort].make(federation.service_key, moved)
    agent.connect()
    again = pages(agent)
    assert_refused(agent)
    assert again == [(size, size)]
    state.cohort = honest
    agent.connect()
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.OPENED]
    publish(federation)


def test_leaves_that_start_after_a_revocation_are_refused(federation: Federation, agent: AgentHome) -> None:
    contribute(federation, agent)
    federation.close()
    agent.run(ROWS)
    federation.revoke(GONE)
    publish(federation)
    contribute(federation, agent)
    close_over_all(federation)
    start, later = cohort_size(federation, 1), federation.log.leaves.index(revocation(federation)) + 1
    # The agent has read two leaves; in place of their frontier it gets that of four, of which the last one revokes.
    assert (start, later) == (2, 4)
    hashes = merkle.frontier(later, federation.log.tree().node).hashes
    agent.connect().change["log/entries"] = lambda page: (
        page if page.start > start else page.model_copy(update={"frontier": hashes})
    )
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.REFUSED]
    assert "does not start at the 2 leaves" in str(agent.events[-1].error)
