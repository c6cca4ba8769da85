"""Clocks that move, and clocks that are not the aggregator's."""

from datetime import UTC, datetime, timedelta

from client_agent.clock_watch import ClockWatch
from client_agent.events import Kind, Reporter
from fgpr.message import timestamp
from support.agent_home import AgentHome
from support.federation import Federation

START = datetime(2031, 3, 9, 12, tzinfo=UTC)


class Clocks:
    def __init__(self):
        self.wall, self.running, self.told = START, 0.0, []
        tell = Reporter(lambda: self.wall, lambda event: self.told.append((event.kind, event.text)))
        self.watch = ClockWatch(lambda: self.wall, tell, lambda: self.running)

    def after(self, seconds, moved=0.0):
        self.running += seconds
        self.wall += timedelta(seconds=seconds + moved)
        self.watch.look()

    def compare(self, ahead):
        self.watch.compare(timestamp(self.wall - timedelta(seconds=ahead)))


def test_a_clock_that_was_moved():
    clocks = Clocks()
    clocks.after(3600)
    clocks.after(30, moved=9)
    assert clocks.told == []
    clocks.after(30, moved=7200)
    clocks.after(30)
    clocks.after(30, moved=-3600)
    assert [text for _, text in clocks.told] == [
        "the clock of this machine was moved forward by 7200 s, or the machine slept",
        "the clock of this machine was moved back by 3600 s",
    ]
    assert {kind for kind, _ in clocks.told} == {Kind.CLOCK}


def test_a_clock_that_is_not_the_aggregators_is_told_once_and_when_it_is_again():
    clocks = Clocks()
    for ahead in (0, 9, -9, 45, 47, -3600, 1):
        clocks.compare(ahead)
    assert [text.split(",")[0] for _, text in clocks.told] == [
        "the clock of this machine is 45 s ahead of the aggregator's",
        "the clock of this machine is 3600 s behind the aggregator's",
        "the clock of this machine is the aggregator's again",
    ]


def test_an_agent_says_so_and_serves_on(tmp_path):
    agent = AgentHome(Federation(4), "client-00", tmp_path / "home")
    agent.connection.clock = lambda: datetime.now(UTC) + timedelta(seconds=90)
    rows = {"cycle": [1.0, 2.0, 3.0, 4.0], "T24": [1.0, 2.0, 4.0, 3.0]}
    assert agent.run(rows) == [Kind.CLOCK]
    assert "90 s behind the aggregator's" in agent.events[0].text
