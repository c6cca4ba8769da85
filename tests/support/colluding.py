"""Corrupt clients and members in league with the aggregator, and how far they get at more than one sum of a theta."""

from collections.abc import Iterable

import numpy as np

from fgpr.errors import FgprError
from fgpr.secagg.checked_plan import recall
from fgpr.secagg.contributor import contribute
from fgpr.secagg.history import PastRound
from support.federation import Federation

SIZE = 60
UPDATE = np.array([0.1, -0.9, 3.0])


class Colluding:
    """Sixty clients, K = x = 12 of them the aggregator's: these contribute and answer whatever they are asked."""

    def __init__(self) -> None:
        self.federation = Federation(SIZE)
        names = self.federation.names
        self.corrupt, self.honest = names[:12], names[12:]

    def contribute(self, counted: Iterable[str]) -> None:
        """A plan of the present prior, and these clients' contributions to it."""
        federation = self.federation
        federation.plan()
        plan = federation.now.plan.message
        for name in counted:
            if name in self.honest:
                federation.contribute(name, UPDATE)
                continue
            checked = recall(PastRound(plan, federation.roster.message))
            key = federation.clients[name].identity_key
            federation.receive(contribute(checked, name, key, UPDATE, 1, federation.random_bytes).contribution)

    def answers(self, counted: Iterable[str], asked: Iterable[str]) -> int:
        """How many answers a cohort of these gets from the corrupt members and those of the asked that give one."""
        cohort = self.federation.cohort_of(counted)
        given = len(self.corrupt)
        for name in asked:
            try:
                self.federation.ask(name, self.federation.view(name, cohort))
            except FgprError:
                continue
            given += 1
        return given


def four_cohorts() -> tuple[list[int], int]:
    """Client A alone is S1 + S1' - S2 - S2', and each two of the four keep the rule on differences.

    S1 = A + P + Q and S1' = R + T would be opened from one prior version, S2 = P + R and S2' = Q + T after a carry.

    Returns:
        How many answers S1 and S1' get where as few honest members as will do are asked for the first, and t.
    """
    made = Colluding()
    # A, P and Q are seventeen, R and T sixteen; the last fifteen contribute to neither. So many are asked for S1 that
    # it takes one of R and T, too, which then cannot contribute to S1'.
    first, second, others = made.honest[:17], made.honest[17:33], made.honest[33:]
    colluders = made.corrupt[:6]
    threshold = made.federation.plan().message.threshold
    made.federation.rounds.clear()
    asked = [*first, *others, *second][: threshold - len(made.corrupt)]
    made.contribute([*colluders, *first])
    answers = [made.answers([*colluders, *first], asked)]
    left = [*colluders, *(name for name in second if name not in asked)]
    made.contribute(left)
    answers.append(made.answers(left, made.honest))
    return answers, threshold
