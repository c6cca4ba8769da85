"""Slopes and floors of the theorems' curves, what is wanted of them, and how near the examples come to the truth."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from fgpr.experiments.convergence import EXAMPLE1, EXAMPLE2
from fgpr.experiments.curves import Floors, Rate, floors_of, rate_of
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Judged
from fgpr.experiments.records import Record
from fgpr.experiments.theorems import BATCHES, GRADIENT_ROUNDS, NOISE_ROUNDS, THEOREMS, TRAINING

SLOPE = -0.8
"""Largest slope that counts as 1 / T."""

KNOWN_TRUTH = ("homogeneous", "homogeneous matern-3/2", "homogeneous sampled")
"""Scenes of the theorems with one truth: that of all clients."""

ROUNDS_OF: Mapping[str, Sequence[int]] = {"noise": NOISE_ROUNDS, "gradient": GRADIENT_ROUNDS}
"""Rounds after which a record of the theorems has its curves' values."""


def curves_of(records: Sequence[Record], item: str, variant: str, key: str) -> dict[int, list[float]]:
    """The curves of that name by the seed of their records."""
    return {
        record.cell.seed: record.values[key]
        for record in records
        if record.error is None and (record.cell.item, record.cell.variant) == (item, variant) and key in record.values
    }


def theorem_rate(records: Sequence[Record], batch: int, variant: str, key: str) -> Rate | None:
    """The rate of one scene of the theorems; None where there are no records of it."""
    curves = curves_of(records, f"M={batch}", variant, key)
    return rate_of(list(curves.values()), _iterations(key)) if curves else None


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
            found.append(_judged_floors(records, variant, fewer, more))
    return found


def theorem_floors(records: Sequence[Record], variant: str, fewer: int, more: int) -> Floors | None:
    """How the floor falls from one batch to the next larger one, over the seeds that both have; None without any."""
    curves = [curves_of(records, f"M={batch}", variant, "noise") for batch in (more, fewer)]
    seeds = sorted(curves[0].keys() & curves[1].keys())
    if not seeds:
        return None
    low, high = ([each[seed] for seed in seeds] for each in curves)
    return floors_of(low, high, _iterations("noise"))


def _iterations(key: str) -> list[int]:
    return [TRAINING.steps * number for number in ROUNDS_OF[key]]


def _judged_floors(records: Sequence[Record], variant: str, fewer: int, more: int) -> Judged:
    found = theorem_floors(records, variant, fewer, more)
    name = f"{variant}: floor at M = {more} over floor at M = {fewer}"
    if found is None:
        return Judged(name, None, "< 1", None, 0)
    if found.rests or found.ratio >= 1.0:
        return Judged(name, found.ratio, "< 1", found.ratio < 1.0, found.runs)
    # The end of a curve that still falls is above its floor: the ratio of the floors may be larger.
    return Judged(f"{name}, still falling", found.ratio, "< 1", None, found.runs)


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
    lines += [
        "",
        "| scene | floor at | over floor at | ratio | 90 % by the bootstrap | runs |",
        "|---|---|---|---|---|---|",
    ]
    for variant in KNOWN_TRUTH:
        for fewer, more in pairwise(BATCHES):
            known = theorem_floors(records, variant, fewer, more)
            if known is not None:
                interval = "" if known.low is None else f"{known.low:.2f} to {known.high:.2f}"
                told = f"{known.ratio:.2f} | {interval} | {known.runs}"
                still = "" if known.rests else ", still falling"
                lines.append(f"| {variant} | M = {more} | M = {fewer}{still} | {told} |")
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
                curves = np.array(list(curves_of(records, item, variant, key).values()))
                if curves.size:
                    told = " | ".join(f"{np.median(curves[:, place]):.1e}" for place in (0, 4, 10, -1))
                    nearer = int((curves[:, -1] < curves[:, 0]).sum())
                    lines.append(f"| {variant} | {item} | {title} | {told} | {nearer} of {len(curves)} |")
    return [*lines, ""]
