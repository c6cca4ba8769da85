"""Rows that are read anew for each round while their file grows."""

import pytest

from client_agent.agent_toml import AgentToml, DataSection
from client_agent.events import Kind
from client_agent.own_data import OwnData, file_of
from fgpr.errors import LocalProtocolError
from support import agent_home
from support.agent_home import AgentHome
from support.federation import Federation

ME = "client-00"
ROWS = [f"{cycle},{642 + cycle % 3 + cycle / 10}" for cycle in range(1, 20)]


def play_round(federation, agent, source):
    agent_home.plan(federation)
    weights = []
    told = agent.run(source, observer=lambda _, weight: weights.append(weight))
    for name in federation.names:
        if name != ME:
            federation.contribute(name, federation.prior.vector(), 5)
    if ME in federation.now.contributions:
        federation.close()
        agent.run(source)
        for name in federation.names:
            if name != ME:
                federation.open(name)
        federation.finish()
    return told, weights


def test_new_cycles_count_in_the_next_round_and_a_half_one_waits(tmp_path):
    federation = Federation(4)
    agent = AgentHome(federation, ME, tmp_path / "home")
    path, reports = tmp_path / "rows.csv", []
    source = OwnData(path, AgentToml(), on_report=reports.append)
    path.write_text("cycle,T24\n" + "\n".join(ROWS[:6]) + "\n7,64")
    assert play_round(federation, agent, source) == ([Kind.CHECKED, Kind.CONTRIBUTED], [6])
    with path.open("a") as file:
        file.write("3.1\n" + "\n".join(ROWS[7:10]) + "\n")
    told, weights = play_round(federation, agent, source)
    assert (told[-1], weights) == (Kind.CONTRIBUTED, [10])
    assert [report.unfinished for report in reports] == [True, False]


@pytest.mark.parametrize("text", ["cycle,T24", "cycle,T24\n", "cycle,T24\n1,x\n", None])
def test_a_file_without_rows_yet_ends_nothing(tmp_path, text):
    federation = Federation(4)
    agent = AgentHome(federation, ME, tmp_path / "home")
    path = tmp_path / "rows.csv"
    if text is not None:
        path.write_text(text)
    source = OwnData(path, AgentToml())
    told, _ = play_round(federation, agent, source)
    assert told == [Kind.CHECKED, Kind.SKIPPED]
    assert "this client contributes nothing" in agent.events[-1].text


def test_which_file(tmp_path):
    settings = AgentToml(data=DataSection(file="/rows.csv"))
    assert str(file_of(None, settings)) == "/rows.csv"
    assert file_of(tmp_path, settings) == tmp_path
    with pytest.raises(LocalProtocolError, match="--data"):
        file_of(None, AgentToml())
