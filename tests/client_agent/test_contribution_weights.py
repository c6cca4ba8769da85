"""What an agent says of its number of rows, and what it tells its owner of that."""

from pathlib import Path

import numpy as np

from client_agent.events import Kind
from fgpr.secagg.planning import AggregationRules
from support import agent_home
from support.agent_home import AgentHome
from support.federation import Federation

ME, *OTHERS = [f"client-{number:02d}" for number in range(5)]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}


def test_eight_rows_in_units_of_two_weigh_four_and_the_owner_is_told(tmp_path: Path) -> None:
    federation = Federation(5, AggregationRules(weighting="classes", weight_unit=2))
    agent = AgentHome(federation, ME, tmp_path / "home")
    agent_home.plan(federation)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.CONTRIBUTED]
    assert "counted with weight 4, in powers of two of 2 rows" in agent.events[-1].text
    for name in OTHERS:
        federation.contribute(name, np.array([0.1, -0.9, 3.0]), 1)
    federation.close()
    agent.run(ROWS)
    for name in OTHERS:
        federation.open(name)
    opened = federation.finish().opened
    assert opened is not None
    assert opened.total_weight == 4 + 4 * 1
