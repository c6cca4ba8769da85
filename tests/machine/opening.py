"""Rules about the second stage of a round, and about proving an aborted one void."""

from hypothesis.stateful import precondition, rule

from fgpr.errors import FgprError
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg.messages import Opening as Answer
from fgpr.secagg.stages import Stage
from machine.agent import Agent
from machine.contributing import plan_of
from machine.faults import Fault
from machine.steps import COMMITS, FAULTS, WHICH, Steps
from machine.violation import require


class Opening(Steps):
    """Open: new, the same, another; the cohort, or after an abort the empty one."""

    @precondition(lambda self: self.closed())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def open(self, which: int, fault: Fault, commits: int) -> None:
        """A member opens the cohort."""
        self.write_and_open(self.choose(self.closed(), which), self.world.seen.last, fault, commits, empty=False)
        self.finished("open")

    @precondition(lambda self: self.closed())
    @rule()
    def everybody_opens(self) -> None:
        """Every member opens the cohort."""
        number = self.world.seen.last
        for agent in self.closed():
            self.write_and_open(agent, number, Fault.NONE, 1, empty=False)
        self.finished("everybody_opens")

    @precondition(lambda self: self.aborted())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def open_nothing(self, which: int, fault: Fault, commits: int) -> None:
        """A member answers an aborted round with the opening of its empty cohort."""
        agent, number = self.choose(self.aborted(), which)
        self.write_and_open(agent, number, fault, commits, empty=True)
        self.finished("open_nothing")

    @precondition(lambda self: self.aborted())
    @rule()
    def everybody_opens_nothing(self) -> None:
        """Every member helps to prove the newest aborted round void."""
        newest = max(number for _, number in self.aborted())
        for agent, number in self.aborted():
            if number == newest:
                self.write_and_open(agent, number, Fault.NONE, 1, empty=True)
        self.finished("everybody_opens_nothing")

    @precondition(lambda self: self._answered())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def open_again(self, which: int, fault: Fault, commits: int) -> None:
        """A member sends the opening that it wrote: a repetition, or the first one to arrive."""
        agent = self.choose(self._answered(), which)
        number = max(agent.opened_bodies)
        self._send_opening(agent, number, agent.opened_bodies[number], fault, commits)
        self.finished("open_again")

    @precondition(lambda self: self._answered())
    @rule(which=WHICH)
    def open_another(self, which: int) -> None:
        """A member signs a second opening where its first one is stored."""
        agent = self.choose(self._answered(), which)
        numbers = [number for number in agent.opened_bodies if (number, agent.name) in self.world.seen.openings]
        if numbers:
            other = agent.another_opening(agent.opened_bodies[numbers[-1]])
            before = self.world.dump()
            status, _ = self.act(Fault.NONE, 1, lambda: agent.send_opening(other, numbers[-1]))
            self.expect(status, {401, 403, 409, 410, 422}, 5, f"a second opening of {agent.name}")
            self.unchanged(before, 5, f"a second opening of {agent.name}")
        self.finished("open_another")

    def closed(self) -> list[Agent]:
        if not self.is_in(Stage.OPENING):
            return []
        number, came = self.world.seen.last, self.world.seen.openings
        plan = plan_of(self.world.seen.rounds[number].plan)
        return [agent for agent in self.active() if (number, agent.name) not in came and plan.seat_of(agent.name)]

    def aborted(self) -> list[tuple[Agent, int]]:
        seen = self.world.seen
        rounds = [number for number, found in seen.rounds.items() if found.stage is Stage.ABORTED]
        return [
            (agent, number)
            for number in rounds[-4:]
            for agent in self.active()
            if agent.client.history().round(number) is not None and (number, agent.name) not in seen.openings
        ]

    def _answered(self) -> list[Agent]:
        return [agent for agent in self.world.agents.values() if agent.opened_bodies and agent.is_enrolled]

    def write_and_open(self, agent: Agent, number: int, fault: Fault, commits: int, *, empty: bool) -> None:
        try:
            body = agent.write_opening(number, empty=empty)
        except FgprError as error:
            self.refused(agent, error)
            return
        self._send_opening(agent, number, body, fault, commits)

    def _send_opening(self, agent: Agent, number: int, body: bytes, fault: Fault, commits: int) -> None:
        stored = self.world.seen.openings.get((number, agent.name))
        allowed = {200, 404, 409, 410, 422, 429}
        if not self.holds_key(agent):
            allowed = {401, 403}
        elif stored == body:
            allowed = {200}
        status, receipt = self.act(fault, commits, lambda: agent.send_opening(body, number))
        self.expect(status, allowed, 13, f"the opening of {agent.name} of round {number}")
        if isinstance(receipt, Receipt):
            agent.receipts.append(receipt)
        if isinstance(receipt, Receipt) and receipt.counted:
            opening = Signed[Answer].decode(body).message
            known = self.world.model.opened.setdefault((number, agent.name), body)
            require(known == body, 6, f"two openings of {agent.name} of round {opening.round} are acknowledged")
