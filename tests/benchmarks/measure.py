"""One interleaved run: everyone's turn comes again and again, and the least time of each counts.

What a machine does beside only ever adds to a time, and it adds to everyone's; the least of many short turns is the one
number of a run that it hardly moves (the advice of Python's `timeit.repeat`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.contestants import Contestant
from benchmarks.problem import Answer

TURN_SECONDS = 0.005
"""Short pieces of work are repeated within a turn until they take about so long."""

MIN_TURNS = 3
MAX_TURNS = 100


@dataclass(frozen=True)
class Timing:
    """Least seconds by contestant, for one step and for one prediction where there is one."""

    step: dict[str, float]
    prediction: dict[str, float]


def interleave(contestants: Sequence[Contestant], budget: float, clock: Callable[[], float] = perf_counter) -> Timing:
    """Time everyone in turn.

    Args:
        contestants: on one problem.
        budget: seconds that the run may take once everyone has had `MIN_TURNS` turns.
        clock: of the budget.
    """
    works: dict[tuple[str, str], Callable[[int], float | None]] = {}
    for contestant in contestants:
        works["step", contestant.name] = contestant.step
        works["prediction", contestant.name] = contestant.prediction
    first = {key: work(1) for key, work in works.items()}
    works = {key: work for key, work in works.items() if first[key] is not None}
    repeats = {key: max(1, round(TURN_SECONDS / max(work(1) or 0.0, 1e-6))) for key, work in works.items()}
    taken: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    start = clock()
    for turn in range(MAX_TURNS):
        if turn >= MIN_TURNS and clock() - start > budget:
            break
        for key, work in works.items():
            taken[key].append(work(repeats[key]) or 0.0)
    least = {key: min(times) for key, times in taken.items()}
    return Timing(
        {name: value for (what, name), value in least.items() if what == "step"},
        {name: value for (what, name), value in least.items() if what == "prediction"},
    )


def disagreement(ours: Answer, theirs: Answer) -> float:
    """The largest relative difference: of the value, and of each list in units of its largest entry."""
    value = abs(ours.value - theirs.value) / abs(theirs.value)
    pairs = ((ours.gradient, theirs.gradient), (ours.mean, theirs.mean), (ours.variance, theirs.variance))
    lists = (np.abs(np.subtract(a, b)).max() / np.abs(b).max() for a, b in pairs)
    return float(max(value, *lists))
