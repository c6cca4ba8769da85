"""Slopes and floors of the theorems' curves, what is wanted of them, and how near the examples come to the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fgpr.experiments.convergence import EXAMPLE1, EXAMPLE2
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Judged
from fgpr.experiments.records import Record
from fgpr.experiments.theorems import BATCHES, GRADIENT_ROUNDS, NOISE_ROUNDS, THEOREMS, TRAINING
from fgpr.gp.arrays import Array

SLOPE = -0.8
"""Largest slope that counts as 1 / T."""

KNOWN_TRUTH = ("homogeneous", "homogeneous matern-3/2", "homogeneous sampled")
"""Scenes of the theorems with one truth: that of all clients."""

_ABOVE = 2.0
"""Times its floor that a curve counts as above it."""
_LEAST = 4
"""Fewest points of a slope."""

ROUNDS_OF: Mapping[str, Sequence[int]] = {"noise": NOISE_ROUNDS, "gradient": GRADIENT_ROUNDS}
"""Rounds after which a record of the theorems has its curves' values."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How a curve of several runs falls.

    Attributes:
        slope: of log error over log iteration, from the first round until the mean curve comes within twice its floor;
            None where fewer than four points are above it.
        error: of the slope, by the jackknife over runs, with the same points; None without slope or with one run.
        late: the slope of the later half of those points in log iteration, where what was left of the start is least;
            None where they are fewer than three.
        until: the last iteration that counts as above the floor.
        floor: mean of the curve's last fifth.
        runs: how many.
    """

    slope: float | None
    error: float | None
    late: float | None
    until: int
    floor: float
    runs: int


def floor_of(curve: Sequence[float] | Array) -> float:
    """Where a curve ends: the mean of its last fifth."""
    return float(np.mean(curve[-max(1, len(curve) // 5) :]))


def rate_of(curves: Sequence[Sequence[float]], iterations: Sequence[int]) -> Rate:
    """The rate of the mean of some runs.

    Args:
        curves: one a run, the error at each of `iterations`.
        iterations: rising; one that is 0 is no part of a slope.
    """
    times, values = np.array(iterations), np.array(curves)
    mean = values.mean(axis=0)
    floor = floor_of(mean)
    below = np.flatnonzero((mean <= _ABOVE * floor) & (times > 0))
    counted = np.flatnonzero(times[: below[0] if below.size else None] > 0)
    until = int(times[counted[-1]]) if counted.size else 0
    if counted.size < _LEAST:
        return Rate(None, None, None, until, floor, len(values))
    slope = _slope(times[counted], mean[counted])
    late = counted[times[counted] >= np.sqrt(times[counted[0]] * times[counted[-1]])]
    return Rate(
        slope,
        _jackknife(times[counted], values[:, counted]),
        _slope(times[late], mean[late]) if late.size > 2 else None,
        until,
        floor,
        len(values),
    )


def curves_of(records: Sequence[Record], item: str, variant: str, key: str) -> list[list[float]]:
    """The curves of that name, one a record."""
    return [
        record.values[key]
        for record in records
        if record.error is None and (record.cell.item, record.cell.variant) == (item, variant) and key in record.values
    ]


def theorem_rate(records: Sequence[Record], batch: int, variant: str, key: str) -> Rate | None:
    """The rate of one scene of the theorems; None where there are no records of it."""
    curves = curves_of(records, f"M={batch}", variant, key)
    return rate_of(curves, [TRAINING.steps * number for number in ROUNDS_OF[key]]) if curves else None


def judge_rates(experiment: Experiment, records: Sequence[Record]) -> list[Judged]:
    """Slopes of at most -0.8 above the floor, and floors that fall with M, wherever there is one truth."""
    if experiment.name != THEOREMS.name:
        return []
    found = []
    for variant in KNOWN_TRUTH:
        rates = [theorem_rate(records, batch, variant, "noise") for batch in BATCHES]
        for batch, rate in zip(BATCHES, rates, strict=True):
            slope = None if rate is None else rate.slope
            met = None if slope is None else slope <= SLOPE
            name = f"{variant}, M = {batch}: slope of the noise's squared error above its floor"
            found.append(Judged(name, slope, f"<= {SLOPE:g}", met, rate.runs if rate else 0))
        for fewer, more in pairwise(BATCHES):
            found.append(_floors(records, variant, fewer, more))
    return found


def _floors(records: Sequence[Record], variant: str, fewer: int, more: int) -> Judged:
    """Whether the floor falls from one batch to the next larger one, over the seeds that both have."""
    seeds = [
        {
            record.cell.seed
            for record in records
            if (record.cell.item, record.cell.variant) == (f"M={batch}", variant) and "noise" in record.values
        }
        for batch in (fewer, more)
    ]
    common = [record for record in records if record.cell.seed in seeds[0] & seeds[1]]
    low, high = (theorem_rate(common, batch, variant, "noise") for batch in (more, fewer))
    name = f"{variant}: floor at M = {more} over floor at M = {fewer}"
    if low is None or high is None:
        return Judged(name, None, "< 1", None, 0)
    ratio = low.floor / high.floor
    return Judged(name, ratio, "< 1", ratio < 1.0, low.runs)


def words_of_rates(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Tables of slopes and floors, or of distances from the truth, in Markdown."""
    if experiment.name == THEOREMS.name:
        return _theorems(records)
    return _examples(experiment, records) if experiment.name in (EXAMPLE1.name, EXAMPLE2.name) else []


def _theorems(records: Sequence[Record]) -> list[str]:
    lines = [
        "| scene | M | what | slope above the floor | its later half | until iteration | floor | runs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    titles = {"noise": "error of the noise sd, squared", "gradient": "gradient, squared"}
    for variant in THEOREMS.variants:
        for key, title in titles.items():
            for batch in BATCHES:
                rate = theorem_rate(records, batch, variant, key)
                if rate is None:
                    continue
                told = "too few points above it" if rate.slope is None else f"{rate.slope:.2f}"
                told += "" if rate.error is None else f" +- {rate.error:.2f}"
                told += f" | {'' if rate.late is None else f'{rate.late:.2f}'} | {rate.until} | {rate.floor:.2e}"
                lines.append(f"| {variant} | {batch} | {title} | {told} | {rate.runs} |")
    return [*lines, ""]


def _examples(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Medians over runs: means over truths that differ by factors of a hundred are those of one or two runs."""
    lines = [
        "Squared distances from the truth, medians over runs, and how many runs end nearer than they began.",
        "",
        "| kernel | clients | of | at the start | after 4 rounds | after 10 rounds | at the end | nearer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for variant in experiment.variants:
        for item in experiment.items:
            for key, title in (("noise", "noise sd"), ("theta", "theta")):
                curves = np.array(curves_of(records, item, variant, key))
                if curves.size:
                    told = " | ".join(f"{np.median(curves[:, place]):.1e}" for place in (0, 4, 10, -1))
                    nearer = int((curves[:, -1] < curves[:, 0]).sum())
                    lines.append(f"| {variant} | {item} | {title} | {told} | {nearer} of {len(curves)} |")
    return [*lines, ""]


def _slope(times: Array, values: Array) -> float:
    return float(np.polyfit(np.log(times), np.log(values), 1)[0])


def _jackknife(times: Array, values: Array) -> float | None:
    runs = len(values)
    if runs < 2:
        return None
    without = np.array([_slope(times, np.delete(values, run, axis=0).mean(axis=0)) for run in range(runs)])
    return float(np.sqrt((runs - 1) / runs * ((without - without.mean()) ** 2).sum()))
