"""What happens to agents on purpose: which one dies in which round, and at which step."""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np


class Fate(StrEnum):
    """The step at which an agent is killed; it is started again for the next round."""

    BEFORE_CONTRIBUTION = "before its contribution is written"
    AFTER_CONTRIBUTION = "right after its contribution is acknowledged"
    BEFORE_OPENING = "after fetching the cohort, before its opening is written"


Fates = dict[int, Fate]
"""Of one agent: its fate by round."""


def killed(agents: int, fraction: float) -> int:
    """How many agents die in each round."""
    return math.floor(fraction * agents + 0.5)


def draw(names: Sequence[str], fraction: float, rounds: int, seed: int) -> dict[str, Fates]:
    """Deal out fates: `killed` agents a round, others each round, the three steps in turn.

    Args:
        names: the agents.
        fraction: share of them that is killed in each round.
        rounds: how many rounds are dealt out.
        seed: of the order in which agents come.
    """
    count = killed(len(names), fraction)
    fates: dict[str, Fates] = {name: {} for name in names}
    order = np.random.default_rng([seed, 1]).permutation(len(names))
    steps = list(Fate)
    for number in range(1, rounds + 1):
        for place in range(count):
            turn = (number - 1) * count + place
            fates[names[order[turn % len(names)]]][number] = steps[turn % len(steps)]
    return fates
