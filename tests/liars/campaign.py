"""Which federations are lied to, by how many, and what comes of it beside the honest run of the same federation."""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from demo import fleet
from demo.fleet import Fleet
from fgpr.secagg.planning import AggregationRules
from liars.attacked import LIES, Outcome, run

CLIENTS, NEW = 60, 20
SENSOR = 4

REGION = 0.75
"""Largest step of the federations that have one. Honest clients take 5 steps of Adam of at most about 0.1 a round."""

FEDERATIONS: dict[str, AggregationRules] = {
    "mean, exact weights": AggregationRules(),
    "mean, uniform weights": AggregationRules(weighting="uniform"),
    "mean, trust region": AggregationRules(largest_step=REGION),
    "median of 4, gamma 0.2": AggregationRules(groups=4, combine="median"),
    "median of 7, gamma 0.1": AggregationRules(gamma=0.1, groups=7, combine="median"),
    "median of 12, gamma 0.05, trust region": AggregationRules(
        gamma=0.05, groups=12, combine="median", largest_step=REGION
    ),
}


@dataclass(frozen=True)
class Trial:
    """One run.

    Attributes:
        federation: its name.
        lie: its name; None for the honest run.
        liars: how many.
        seed: of engines, liars, masks and deals.
        rounds: how many.
        data: a C-MAPSS file; None for the built-in generator.
    """

    federation: str
    lie: str | None
    liars: int
    seed: int
    rounds: int
    data: Path | None


@dataclass(frozen=True)
class Cell:
    """What so many liars do to a federation, over all seeds.

    Attributes:
        federation, lie, liars: which.
        farthest: largest shift of a number of theta from the honest run, in log units; mean over the seeds.
        norm: the Euclidean norm of the shift; mean over the seeds.
        rmse_ratio: of the held-out engines' error to the honest run's; the worst over the seeds.
        detected: share of the rounds in which the trust region fired.
    """

    federation: str
    lie: str
    liars: int
    farthest: float
    norm: float
    rmse_ratio: float
    detected: float


@cache
def engines(data: Path | None, seed: int) -> Fleet:
    """Sixty that train and twenty that come later."""
    return fleet.gather(data, SENSOR, CLIENTS, NEW, seed)


def play(trial: Trial) -> Outcome:
    """Carry out one run; the liars are drawn, and the first of many are those of few."""
    found = engines(trial.data, trial.seed)
    order = np.random.default_rng(trial.seed + 1000).permutation(len(found.clients))
    names = [found.clients[place].name for place in order[: trial.liars]]
    lie = None if trial.lie is None else LIES[trial.lie]
    return run(found, FEDERATIONS[trial.federation], names, lie, trial.rounds, trial.seed)


def trials(data: Path | None, liars: Iterable[int], seeds: Iterable[int], rounds: int) -> list[Trial]:
    """Every run of the campaign, the honest ones among them."""
    found = []
    for federation in FEDERATIONS:
        for seed in seeds:
            found.append(Trial(federation, None, 0, seed, rounds, data))
            found += [Trial(federation, lie, count, seed, rounds, data) for lie in LIES for count in liars]
    return found


def carry_out(chosen: list[Trial], processes: int, told: Callable[[], None]) -> dict[Trial, Outcome]:
    """Play them side by side."""
    outcomes = {}
    with ProcessPoolExecutor(processes) as pool:
        for trial, outcome in zip(chosen, pool.map(play, chosen), strict=True):
            outcomes[trial] = outcome
            told()
    return outcomes


def cells(outcomes: dict[Trial, Outcome]) -> list[Cell]:
    """The table: every federation, lie and number of liars."""
    honest = {(trial.federation, trial.seed): outcome for trial, outcome in outcomes.items() if trial.lie is None}
    found: dict[tuple[str, str, int], list[tuple[Trial, Outcome]]] = {}
    for trial, outcome in outcomes.items():
        if trial.lie is not None:
            found.setdefault((trial.federation, trial.lie, trial.liars), []).append((trial, outcome))
    made = []
    for (federation, lie, count), runs in found.items():
        pairs = [(outcome, honest[federation, trial.seed]) for trial, outcome in runs]
        shifts = np.stack([outcome.theta - before.theta for outcome, before in pairs])
        made.append(
            Cell(
                federation,
                lie,
                count,
                float(np.abs(shifts).max(axis=1).mean()),
                float(np.linalg.norm(shifts, axis=1).mean()),
                max(outcome.rmse / before.rmse for outcome, before in pairs),
                sum(outcome.fired for outcome, _ in pairs) / sum(trial.rounds for trial, _ in runs),
            )
        )
    return made


def honest_costs(outcomes: dict[Trial, Outcome]) -> dict[str, float]:
    """Each federation's held-out error without a liar, as a ratio to that of the plain mean; mean over the seeds."""
    plain = next(iter(FEDERATIONS))
    errors = {(trial.federation, trial.seed): found.rmse for trial, found in outcomes.items() if trial.lie is None}
    seeds = {seed for _, seed in errors}
    return {
        federation: float(np.mean([errors[federation, seed] / errors[plain, seed] for seed in seeds]))
        for federation in FEDERATIONS
    }
