"""A real agent in a federation whose boxes are of the hybrid suite."""

from pathlib import Path

import numpy as np
import pytest

from client_agent.events import Kind
from client_agent.opening_keys import OpeningKeys
from fgpr.errors import CryptographicError, PlanRefused
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.suites import HybridPrivateKey
from support import agent_home
from support.agent_home import AgentHome
from support.federation import Federation

ME, *OTHERS = [f"client-{number:02d}" for number in range(4)]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}


def test_two_rounds(tmp_path: Path) -> None:
    federation = Federation(4, AggregationRules(suite="mlkem768-x25519"))
    agent = AgentHome(federation, ME, tmp_path / "home")
    for number in (1, 2):
        agent_home.plan(federation)
        assert agent.run(ROWS, floors=Floors(suite="mlkem768-x25519"))[-1] is Kind.CONTRIBUTED
        for name in OTHERS:
            federation.contribute(name, np.array([0.1, -0.9, 3.0]), 10)
        federation.close()
        assert agent.run(ROWS)[-1] is Kind.OPENED
        for name in OTHERS:
            federation.open(name)
        assert federation.finish().version == number
    keys = OpeningKeys(agent.home)
    assert keys.serials() == (2, 3)
    assert isinstance(keys.get(3), HybridPrivateKey)


def test_an_owner_that_asks_for_the_hybrid_takes_no_other(tmp_path: Path) -> None:
    federation = Federation(4)
    agent = AgentHome(federation, ME, tmp_path / "home")
    agent_home.plan(federation)
    assert agent.run(ROWS, floors=Floors(suite="mlkem768-x25519")) == [Kind.REFUSED]
    error = agent.events[-1].error
    assert isinstance(error, PlanRefused)
    assert error.check == 9


def test_a_damaged_private_half_is_told(tmp_path: Path) -> None:
    keys = OpeningKeys(tmp_path)
    path = tmp_path / "opening-keys" / "1.key"
    path.touch(mode=0o600)
    path.write_bytes(bytes(95))
    with pytest.raises(CryptographicError, match="is damaged: remove it"):
        keys.get(1)
