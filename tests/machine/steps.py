"""What the rules share: the world of one example, who may act, and how an act meets a fault."""

import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from fgpr.errors import FgprError, PlanRefused, Unavailable
from fgpr.secagg.stages import Stage
from machine import ending
from machine.agent import Agent
from machine.faults import Fault
from machine.violation import require
from machine.world import World

T = TypeVar("T")

FAULTS = st.sampled_from([*[Fault.NONE] * 8, *Fault])
"""Most acts meet none."""

COMMITS = st.integers(1, 2)
WHICH = st.integers(0, 11)
"""One of those that may act, modulo their number: a choice that stays one when there are fewer."""

UNPROVEN = 4
"""Number of the check of a plan by which an agent waits for a void proof."""


class Steps(RuleBasedStateMachine):
    """One example: a federation on a new database.

    Attributes:
        diligence: after so many steps some agent does its duty by itself; 0 where nobody does.
        new_database: of the campaign; the URL of a database with this program's schema, and what drops it.
        counts: of the campaign: steps by rule, and what came of rounds.
    """

    new_database: ClassVar[Callable[[Path], contextlib.AbstractContextManager[str]]]
    counts: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fgpr-machine-")))
        url = self._stack.enter_context(type(self).new_database(folder))
        self.world = World(folder, url)
        self._stack.callback(self.world.close)
        self.diligence, self._taken, self._crashed = 0, 0, 0
        self.counts["examples"] += 1

    def teardown(self) -> None:
        """Faults stop; then the invariants that take long. Nothing where a step failed already."""
        with self._stack:
            if sys.exc_info()[0] is None:
                ending.check(self.world)
                self.counts.update(f"round {found.stage.value}" for found in self.world.seen.rounds.values())
                self.counts["killed processes"] += self.world.crashes

    # who may act

    def active(self) -> list[Agent]:
        """Enrolled, not revoked as the database has it, and not in the middle of replacing a key."""
        known = self.world.seen.clients
        return [
            agent
            for name, agent in self.world.agents.items()
            if agent.is_enrolled and name in known and not known[name][1] and agent.replacing is None
        ]

    def choose(self, among: Sequence[T], which: int) -> T:
        """One of them."""
        return among[which % len(among)]

    # acts

    def act(self, fault: Fault, commits: int, send: Callable[[], T]) -> tuple[int, T | None]:
        """Send one request that may have an effect, and let it meet a fault: the status and what came.

        The status is 0 where no answer came.
        """
        wire = self.world.wire
        self.counts[f"fault {fault}"] += 1
        wire.fault, wire.commits, wire.answers = fault, commits, []
        try:
            done = send()
        except Unavailable:
            return 0, None
        except FgprError:
            return wire.answers[-1][0], None
        finally:
            wire.fault = Fault.NONE
        return wire.answers[-1][0], done

    def finished(self, rule: str) -> None:
        """A step was taken: count it, look at the database, and now and then let honest parties go on meanwhile."""
        self.counts["steps"] += 1
        self.counts[f"rule {rule}"] += 1
        self.world.look()
        self._taken += 1
        if self.diligence and self._taken % self.diligence == 0:
            self.do_duty()
            self.world.look()

    def do_duty(self) -> None:
        """Let one agent, or a replica, do what it does by itself."""
        raise NotImplementedError

    def expect(self, status: int, allowed: set[int], number: int, what: str) -> None:
        """Check a status; no answer is one that was lost.

        Raises:
            Violation: the service answered otherwise.
        """
        detail: Any = self.world.wire.answers[-1][1][:300] if self.world.wire.answers else b""
        require(not status or status in allowed, number, f"{what}: {status}, not {sorted(allowed)}: {detail!r}")

    def unchanged(self, before: dict[str, list[str]], number: int, what: str) -> None:
        """Check that a refused request left the database as it was.

        Raises:
            Violation: it changed something.
        """
        after = self.world.dump()
        changed = [table for table, rows in after.items() if rows != before[table]]
        require(not changed, number, f"{what} changed {changed}")

    def holds_key(self, agent: Agent) -> bool:
        """Whether the agent's key is the one that the database has for it, and not revoked."""
        return self.world.seen.clients.get(agent.name) == (agent.key_id, False)

    def refused(self, agent: Agent, error: FgprError) -> None:
        """An agent did not take what it was given.

        Raises:
            Violation: there is no reason for that: the aggregator is honest, and a round without honest agents ends
                without a prior.
        """
        kind = f"{type(error).__name__} {getattr(error, 'check', '')}".rstrip()
        # It wrote a contribution that never arrived, and waits for the proof that it never will. Or it knows a history
        # that a backup took back.
        known = isinstance(error, PlanRefused) and error.check == UNPROVEN
        require(known or self.world.went_back, 17, f"{agent.name} refuses an honest aggregator: {kind}: {error}")
        self.counts[f"refused by an agent: {kind}{', history lost' if self.world.went_back else ''}"] += 1

    def is_in(self, stage: Stage) -> bool:
        """Whether the newest round is in this stage."""
        return self.world.seen.is_in(stage)
