"""Rules about the first stage of a round."""

import hashlib
from functools import cache

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from fgpr.errors import FgprError
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg.messages import Plan
from fgpr.secagg.stages import Stage
from machine.agent import Agent
from machine.faults import Fault
from machine.steps import COMMITS, FAULTS, WHICH, Steps


@cache
def plan_of(document: bytes) -> Plan:
    """A signed plan, read."""
    return Signed[Plan].decode(document).message


class Contributing(Steps):
    """Open a round, contribute: new, the same, another, late."""

    @precondition(lambda self: not self.world.seen.runs())
    @rule(fault=FAULTS, commits=COMMITS)
    def open_round(self, fault: Fault, commits: int) -> None:
        """The operator opens a round."""
        status, _ = self.act(fault, commits, self.world.operator.open_round)
        # An aborted round waits, the federation is paused, or there are too few clients.
        self.expect(status, {201, 409, 422}, 4, "a round opened by hand")
        self.finished("open_round")

    @precondition(lambda self: self.missing())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS, far=st.sampled_from([False] * 9 + [True]))
    def contribute(self, which: int, fault: Fault, commits: int, far: bool) -> None:
        """A client contributes."""
        self.write_and_send(self.choose(self.missing(), which), fault, commits, far=far)
        self.finished("contribute")

    @precondition(lambda self: self.missing())
    @rule(far=st.sampled_from([False] * 9 + [True]))
    def everybody_contributes(self, far: bool) -> None:
        """Every client that did not yet contributes."""
        for agent in self.missing():
            self.write_and_send(agent, Fault.NONE, 1, far=far)
            self.world.look()
            if not self.is_in(Stage.CONTRIBUTING):
                break
        self.finished("everybody_contributes")

    @precondition(lambda self: self._written())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def contribute_again(self, which: int, fault: Fault, commits: int) -> None:
        """A client sends what it wrote to the newest round that it wrote to: a repetition, or the first to arrive."""
        agent = self.choose(self._written(), which)
        number = max(agent.bodies)
        self._send(agent, number, agent.bodies[number], fault, commits)
        self.finished("contribute_again")

    @precondition(lambda self: self._written())
    @rule(which=WHICH, back=st.integers(1, 3))
    def contribute_late(self, which: int, back: int) -> None:
        """A client sends what it wrote to an older round."""
        agent = self.choose(self._written(), which)
        numbers = sorted(agent.bodies)
        number = numbers[-1 - back % len(numbers)]
        self._send(agent, number, agent.bodies[number], Fault.NONE, 1)
        self.finished("contribute_late")

    @precondition(lambda self: self._written())
    @rule(which=WHICH)
    def contribute_another(self, which: int) -> None:
        """A client signs a second body to a round where its first one is stored."""
        agent = self.choose(self._written(), which)
        numbers = [number for number in agent.bodies if (number, agent.name) in self.world.seen.contributions]
        if numbers:
            number = numbers[-1]
            other = agent.another_contribution(agent.bodies[number])
            before = self.world.dump()
            status, _ = self.act(Fault.NONE, 1, lambda: agent.send_contribution(other, number))
            self.expect(status, {401, 403, 409}, 5, f"a second body of {agent.name} to round {number}")
            self.unchanged(before, 5, f"a second body of {agent.name} to round {number}")
        self.finished("contribute_another")

    @precondition(lambda self: self._written())
    @rule(which=WHICH, place=st.integers(0, 2**16))
    def contribute_mutated(self, which: int, place: int) -> None:
        """A client sends its body with one byte changed."""
        agent = self.choose(self._written(), which)
        number = max(agent.bodies)
        body = bytearray(agent.bodies[number])
        body[place % len(body)] ^= 1
        before = self.world.dump()
        status, _ = self.act(Fault.NONE, 1, lambda: agent.send_contribution(bytes(body), number))
        self.expect(status, {401, 403, 404, 409, 410, 422}, 5, f"a changed body of {agent.name} to round {number}")
        self.unchanged(before, 5, f"a changed body of {agent.name} to round {number}")
        self.finished("contribute_mutated")

    def missing(self) -> list[Agent]:
        """Those invited who may still write a body, or wrote one that is not stored."""
        number = self.world.seen.last
        if not self.is_in(Stage.CONTRIBUTING):
            return []
        came, invited = self.world.seen.contributions, plan_of(self.world.seen.rounds[number].plan).invited
        return [agent for agent in self.active() if (number, agent.name) not in came and agent.name in invited]

    def _written(self) -> list[Agent]:
        return [agent for agent in self.world.agents.values() if agent.bodies and agent.is_enrolled]

    def write_and_send(self, agent: Agent, fault: Fault, commits: int, *, far: bool) -> None:
        try:
            number, body = agent.write_contribution(far)
        except FgprError as error:
            self.refused(agent, error)
            return
        self.world.model.disks.written[hashlib.sha256(body).digest()] = number, agent.name
        self._send(agent, number, body, fault, commits)

    def _send(self, agent: Agent, number: int, body: bytes, fault: Fault, commits: int) -> None:
        self.world.model.disks.written[hashlib.sha256(body).digest()] = number, agent.name
        allowed = self._expected(agent, number, body)
        status, receipt = self.act(fault, commits, lambda: agent.send_contribution(body, number))
        self.expect(status, allowed, 13, f"the body of {agent.name} to round {number}")
        if isinstance(receipt, Receipt):
            agent.receipts.append(receipt)
            self.world.model.counted[number, agent.name] = hashlib.sha256(body).digest()

    def _expected(self, agent: Agent, number: int, body: bytes) -> set[int]:
        """The one status that is right, by what the database holds."""
        seen = self.world.seen
        if not self.holds_key(agent):
            return {401, 403}
        found = seen.rounds.get(number)
        if found is None:
            return {404}
        stored = seen.contributions.get((number, agent.name))
        if stored is not None:
            return {200} if stored == hashlib.sha256(body).digest() else {409}
        if found.stage is not Stage.CONTRIBUTING or self.world.clock() >= found.contribute_until:
            return {410}
        # Restored from a backup, the round of this number may have another plan.
        past = agent.client.history().round(number)
        if past is None or past.plan != plan_of(found.plan):
            return {403, 409, 422}
        return {200, 409} if len(agent.keys) > 1 else {200}
