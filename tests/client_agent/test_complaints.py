"""A real agent whose boxes do not open: it complains, once and for all, and still proves the round void."""

from pathlib import Path

import numpy as np
import pytest

from client_agent.events import Kind
from client_agent.journal import Journal
from fgpr.errors import CohortRefused, LocalProtocolError, Unavailable
from fgpr.message import Signed
from fgpr.secagg.messages import Complaint
from fgpr.secagg.stages import Event, Stage
from support import agent_home
from support.agent_home import AgentHome, Killed
from support.federation import Federation
from support.malice import with_box

ME, LIAR, *OTHERS = [f"client-{number:02d}" for number in range(6)]
ROWS = {"cycle": np.arange(1.0, 9.0), "T24": np.array([642.0, 641.5, 642.5, 643.0, 642.8, 643.5, 643.9, 644.2])}


@pytest.fixture
def federation() -> Federation:
    return Federation(6)


@pytest.fixture
def agent(federation: Federation, tmp_path: Path) -> AgentHome:
    return AgentHome(federation, ME, tmp_path / "home")


def close(federation: Federation, agent: AgentHome, seats: range = range(1, 7)) -> None:
    """A closed round in which the liar sealed nothing that opens for these seats."""
    agent_home.plan(federation)
    agent.run(ROWS)
    for name in (LIAR, *OTHERS):
        if name not in federation.revoked:
            federation.contribute(name, np.array([0.1, -0.9, 3.0]), 10)
    if LIAR not in federation.revoked:
        for seat in seats:
            sent = federation.now.contributions[LIAR]
            garbage = bytes(len(sent.boxes[seat - 1]))
            federation.receive(with_box(sent, seat, garbage, federation.clients[LIAR].identity_key))
    federation.close()


def complaints(agent: AgentHome) -> list[bytes]:
    return [body for path, body in agent.connection.puts if "complaints" in path]


def test_a_round_of_bad_boxes_a_void_one_and_a_good_one(federation: Federation, agent: AgentHome) -> None:
    close(federation, agent)
    assert agent.run(ROWS) == [Kind.CHECKED, Kind.REFUSED, Kind.COMPLAINED]
    (body,) = complaints(agent)
    assert Signed[Complaint].decode(body).message.accused() == (LIAR,)
    refused = next(event.error for event in agent.events if event.kind is Kind.REFUSED)
    assert isinstance(refused, CohortRefused)
    assert refused.check == 8
    for name in OTHERS:
        federation.complain(name)
    assert federation.revoked == {LIAR}
    federation.abort(Event.TOO_FEW_OPENINGS)
    assert Kind.VOIDED in agent.run(ROWS)
    for name in OTHERS:
        federation.open(name)
    assert federation.settle() is Stage.VOID
    federation.roster = federation.new_roster(2)
    close(federation, agent)
    assert LIAR not in federation.now.plan.message.invited
    assert agent.run(ROWS)[-1] is Kind.OPENED
    for name in OTHERS:
        federation.open(name)
    assert federation.finish().version == 1


def test_the_complaint_is_sent_until_it_arrives_byte_for_byte(federation: Federation, agent: AgentHome) -> None:
    close(federation, agent, range(1, 2))
    agent.connection.refuse["complaints"] = Unavailable("not now")

    def give_up(_: int) -> None:
        if complaints(agent):
            agent.stop.set()

    agent.connection.before = give_up
    agent.run(ROWS)
    (first, *_) = complaints(agent)
    assert federation.now.complaints == {}
    agent.connect()
    assert Kind.COMPLAINED in agent.run(ROWS)
    assert complaints(agent) == [first]
    assert federation.now.complaints[ME].encode() == first
    # A third run has nothing more to say of it that the aggregator does not know.
    agent.connect()
    agent.run(ROWS)
    assert set(complaints(agent)) <= {first}
    assert not [path for path, _ in agent.connection.puts if "openings" in path]


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_around_the_sending(federation: Federation, agent: AgentHome, after: bool) -> None:
    close(federation, agent, range(1, 2))

    def kill(_: int) -> None:
        if complaints(agent):
            raise Killed

    setattr(agent.connection, "after" if after else "before", kill)
    with pytest.raises(Killed):
        agent.run(ROWS)
    (first,) = complaints(agent)
    assert bool(federation.now.complaints) is after
    agent.connect()
    assert Kind.COMPLAINED in agent.run(ROWS)
    assert complaints(agent) == [first]
    assert len([leaf for leaf in federation.log.leaves if b'"kind":"complaint"' in leaf]) == 1


def test_a_complaint_is_written_once_and_never_after_an_opening(federation: Federation, tmp_path: Path) -> None:
    federation.run(dict.fromkeys(federation.names, (np.array([0.1, -0.9, 3.0]), 5)))
    state = federation.rounds[1]
    assert state.cohort is not None
    with Journal(tmp_path) as book:
        with pytest.raises(LocalProtocolError, match="no complaint of round 1"):
            book.write_complaint(1, b"before its plan")
        book.record_plan(state.plan, state.roster)
        assert book.complaint(1) is None
        book.write_complaint(1, b"first")
        with pytest.raises(LocalProtocolError, match="never written twice"):
            book.write_complaint(1, b"second")
        # It opened nothing.
        assert book.history(None).rounds[0].opened is None
        book.write_opening(1, state.cohort, b"answer")
        with pytest.raises(LocalProtocolError, match="no complaint"):
            book.write_complaint(1, b"third")
    with Journal(tmp_path) as book:
        assert (book.complaint(1), book.opening(1)) == (b"first", b"answer")
