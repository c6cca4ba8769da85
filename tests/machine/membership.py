"""Rules about who belongs to the federation: tickets, enrolment, revocation, keys."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from fgpr.errors import FgprError
from machine.agent import Agent
from machine.faults import Fault
from machine.steps import COMMITS, FAULTS, WHICH, Steps

MOST_ACTIVE = 5
MOST_EVER = 14


class Membership(Steps):
    """Enrol, revoke, leave, replace a key."""

    @initialize(diligence=st.sampled_from([1, 1, 1, 2, 4, 0]))
    def found(self, diligence: int) -> None:
        """Three clients, who look after their duties more or less often."""
        self.diligence = diligence
        for _ in range(3):
            self._take_up(self._invited(), Fault.NONE, 1)
        self.finished("found")

    @precondition(lambda self: len(self.active()) < MOST_ACTIVE and len(self.world.agents) < MOST_EVER)
    @rule(fault=FAULTS, commits=COMMITS)
    def enrol(self, fault: Fault, commits: int) -> None:
        """A client takes up a new ticket."""
        self._take_up(self._invited(), fault, commits)
        self.finished("enrol")

    @precondition(lambda self: self._waiting())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def enrol_again(self, which: int, fault: Fault, commits: int) -> None:
        """A client whose answer was lost sends the same enrolment."""
        self._take_up(self.choose(self._waiting(), which), fault, commits)
        self.finished("enrol_again")

    @precondition(lambda self: any(agent.is_enrolled for agent in self.world.agents.values()))
    @rule(which=WHICH)
    def steal_ticket(self, which: int) -> None:
        """A stranger takes up a ticket that was taken up before."""
        agent = self.choose([agent for agent in self.world.agents.values() if agent.is_enrolled], which)
        thief = Agent(agent.ticket, self.world.wire, self.world.clock, self.world.random_bytes)
        before = self.world.dump()
        status, _ = self.act(Fault.NONE, 1, thief.enrol)
        thief.api.close()
        self.expect(status, {401, 409}, 9, f"the ticket of {agent.name} from another key")
        self.unchanged(before, 9, f"the ticket of {agent.name} from another key")
        self.finished("steal_ticket")

    @precondition(lambda self: len(self.active()) > 2)
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def revoke(self, which: int, fault: Fault, commits: int) -> None:
        """The operator revokes a client."""
        agent = self.choose(self.active(), which)
        status, _ = self.act(fault, commits, lambda: self.world.operator.revoke(agent.name))
        self.expect(status, {204}, 8, f"revocation of {agent.name}")
        if status == 204:
            self.world.model.revoked.add(agent.name)
        self.finished("revoke")

    @precondition(lambda self: len(self.active()) > 3)
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def leave(self, which: int, fault: Fault, commits: int) -> None:
        """A client revokes itself."""
        agent = self.choose(self.active(), which)
        known = self.holds_key(agent)
        status, _ = self.act(fault, commits, lambda: agent.api.delete(f"clients/{agent.name}"))
        self.expect(status, {204} if known else {401, 403}, 8, f"{agent.name} leaves")
        if status == 204:
            self.world.model.revoked.add(agent.name)
        self.finished("leave")

    @precondition(lambda self: self._revoked())
    @rule(which=WHICH)
    def act_revoked(self, which: int) -> None:
        """A revoked client replaces its key, which would make it another one."""
        agent = self.choose(self._revoked(), which)
        before = self.world.dump()
        body = agent.rotation(Ed25519PrivateKey.from_private_bytes(self.world.random_bytes(32)))
        status, _ = self.act(Fault.NONE, 1, lambda: agent.send_rotation(body))
        self.expect(status, {401, 403}, 8, f"another key of {agent.name}, who is revoked")
        self.unchanged(before, 8, f"another key of {agent.name}, who is revoked")
        self.finished("act_revoked")

    @precondition(lambda self: self.active())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def replace_key(self, which: int, fault: Fault, commits: int) -> None:
        """A client replaces its key."""
        self.send_new_key(self.choose(self.active(), which), fault, commits)
        self.finished("replace_key")

    @precondition(lambda self: self.replacing())
    @rule(which=WHICH, fault=FAULTS, commits=COMMITS)
    def replace_key_again(self, which: int, fault: Fault, commits: int) -> None:
        """A client whose answer was lost sends the same request."""
        self.send_new_key(self.choose(self.replacing(), which), fault, commits)
        self.finished("replace_key_again")

    def _invited(self) -> Agent:
        name = f"client-{len(self.world.agents):02d}"
        ticket = self.world.operator.issue(name)
        agent = Agent(ticket, self.world.wire, self.world.clock, self.world.random_bytes)
        self.world.agents[name] = agent
        self.world.model.disks.keys[name] = agent.keys
        return agent

    def _take_up(self, agent: Agent, fault: Fault, commits: int) -> None:
        known = self.world.seen.clients.get(agent.name)
        status, _ = self.act(fault, commits, agent.enrol)
        # A ticket expires within a week, and with an epoch.
        self.expect(status, {201} if known else {201, 401}, 13, f"enrolment of {agent.name}")
        if status == 201:
            agent.is_enrolled = True
            self.world.model.enrolled.add(agent.name)

    def _waiting(self) -> list[Agent]:
        return [agent for agent in self.world.agents.values() if not agent.is_enrolled]

    def _revoked(self) -> list[Agent]:
        known = self.world.seen.clients
        return [agent for name, agent in self.world.agents.items() if name in known and known[name][1]]

    def replacing(self) -> list[Agent]:
        return [agent for agent in self.world.agents.values() if agent.replacing is not None]

    def send_new_key(self, agent: Agent, fault: Fault, commits: int) -> None:
        key, revoked = self.world.seen.clients.get(agent.name, ("", True))
        try:
            body = agent.write_rotation()
        except FgprError:
            return
        status, _ = self.act(fault, commits, lambda: agent.send_rotation(body))
        # A restored database may know an older key than the one that it signs with: that one is for the operator.
        stands = not revoked and key in agent.keys_of_rotation()
        self.expect(status, {200, 429} if stands else {401, 403, 422}, 13, f"another key of {agent.name}")
        if status == 200:
            agent.rotated()
