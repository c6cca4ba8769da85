"""kill -9 of the aggregator and of an agent in the middle of a round: it finishes after restart, once, same bytes."""

import hashlib
import signal
from pathlib import Path

import numpy as np
import pytest

from client_agent import membership
from demo.observation import Notebook
from fgpr.secagg.stages import Stage
from support.live_federation import LiveFederation, live, until

pytestmark = pytest.mark.slow


def _published_once(federation: LiveFederation) -> None:
    until(lambda: federation.is_in(Stage.PUBLISHED), "round 1 to publish")
    assert federation.query("select version from priors order by version") == [(0,), (1,)]
    theta, cohort = federation.aggregator.published(1)
    assert cohort == sorted(federation.names)
    exact = Notebook(federation.folder / "notebook").exact_average(1, cohort)
    np.testing.assert_allclose(theta, exact, rtol=0, atol=1e-8)


def test_the_aggregator_killed_between_the_last_contribution_and_publication_finishes_the_round_once(
    tmp_path: Path, empty_database_url: str
) -> None:
    with live(tmp_path, 4, database=empty_database_url) as federation:
        first = {name: federation.agent(name) for name in federation.names}
        enrolled = [federation.home(name) / membership.FILE_NAME for name in federation.names]
        until(lambda: all(path.exists() for path in enrolled), "four enrolments")
        # Members stand still, so that the round cannot be opened before the kill.
        until(lambda: federation.newest() is not None, "round 1 to open")
        until(lambda: _contributed(federation) >= 3, "contributions")
        for process in first.values():
            process.send_signal(signal.SIGSTOP)
        if federation.is_in(Stage.CONTRIBUTING):
            late = [name for name in federation.names if not _has_contribution(federation, name)]
            for name in late:
                first[name].send_signal(signal.SIGCONT)
            until(lambda: _contributed(federation) == 4, "the last contribution")
            for name in late:
                first[name].send_signal(signal.SIGSTOP)
        before = federation.query("select client, body_digest from contributions order by client")
        federation.kill()
        assert not federation.is_in(Stage.PUBLISHED)

        federation.aggregator.start()
        for process in first.values():
            process.send_signal(signal.SIGCONT)
        _published_once(federation)
        assert federation.query("select client, body_digest from contributions order by client") == before
        written = [(name, hashlib.sha256(_contribution(federation, name)).digest()) for name in federation.names]
        assert sorted(written) == before


def test_an_agent_killed_after_it_wrote_its_contribution_sends_the_same_bytes_after_restart(
    tmp_path: Path, empty_database_url: str
) -> None:
    with live(tmp_path, 4, database=empty_database_url) as federation:
        victim, *others = federation.names
        dying = federation.agent(victim, "support.agent_that_dies_unsent")
        for name in others:
            federation.agent(name)
        until(lambda: dying.poll() is not None, "the agent to die")
        assert dying.returncode == -signal.SIGKILL
        written = _contribution(federation, victim)
        assert not _has_contribution(federation, victim)

        federation.agent(victim)
        _published_once(federation)
        assert _contribution(federation, victim) == written
        stored = federation.query(f"select body_digest from contributions where client = '{victim}'")  # noqa: S608
        assert stored == [(hashlib.sha256(written).digest(),)]


def _contributed(federation: LiveFederation) -> int:
    newest = federation.newest()
    return 0 if newest is None else newest.contributions


def _has_contribution(federation: LiveFederation, name: str) -> bool:
    return (name,) in federation.query("select client from contributions")


def _contribution(federation: LiveFederation, name: str) -> bytes:
    (path,) = federation.home(name).glob("rounds/*1/contribution.json")
    return path.read_bytes()
