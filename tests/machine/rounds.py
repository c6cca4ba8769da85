"""The machine: every rule together, and what honest parties do by themselves meanwhile."""

from machine.contributing import Contributing
from machine.faults import Fault
from machine.membership import Membership
from machine.opening import Opening
from machine.trouble import Trouble


class Rounds(Membership, Contributing, Opening, Trouble):
    """Random life of one federation on the real service."""

    def do_duty(self) -> None:
        """The next agent that has a duty does it; where nobody has, a replica looks for what is due."""
        turn = self._taken
        self.counts["duties"] += 1
        number = self.world.seen.last
        if self.replacing():
            self.send_new_key(self.choose(self.replacing(), turn), Fault.NONE, 1)
        elif self.aborted():
            agent, aborted = self.choose(self.aborted(), turn)
            self.write_and_open(agent, aborted, Fault.NONE, 1, empty=True)
        elif waiting := [agent for agent in self.missing() if number not in agent.bodies]:
            self.write_and_send(self.choose(waiting, turn), Fault.NONE, 1, far=False)
        elif waiting := [agent for agent in self.closed() if number not in agent.opened_bodies]:
            self.write_and_open(self.choose(waiting, turn), number, Fault.NONE, 1, empty=False)
        else:
            self.world.tick()
