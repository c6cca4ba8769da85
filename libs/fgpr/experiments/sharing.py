"""What sharing is worth: errors of a federation over those of a client alone, on the seeds that both have."""

from collections.abc import Mapping

import numpy as np

from fgpr.experiments import table3
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Entry, Table

PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "table1": (("fgpr", "separate"), ("fgpr-evidence", "separate-evidence")),
    "table2": (("fgpr", "separate"), ("fgpr", "polynomial-own")),
    "table3": (("fgpr", "separate"), ("fgpr-evidence", "separate"), (table3.HEADLINE, "separate")),
}
"""By experiment, which system is held against which."""

_RESAMPLES, _INTERVAL = 2000, (0.05, 0.95)


def words_of_sharing(experiment: Experiment, table: Table) -> list[str]:
    """A table of ratios, in Markdown; empty where no pair has a seed in common."""
    rows = []
    for variant in experiment.variants:
        for ours, other in PAIRS.get(experiment.name, ()):
            entries = [
                (table.get((variant, item, ours)), table.get((variant, item, other))) for item in experiment.items
            ]
            cells = [_ratio(one, alone) if one and alone else "" for one, alone in entries]
            if any(cells):
                titles = f"{experiment.system(ours).title} over {experiment.system(other).title}"
                rows.append(f"| {titles} | {variant} | " + " | ".join(cells) + " |")
    if not rows:
        return []
    return [
        "What sharing is worth: ratio of the mean errors on the seeds that both have, below 1 where sharing helps;",
        "in brackets 90 % by the bootstrap over seeds.",
        "",
        "| | | " + " | ".join(experiment.items) + " |",
        "|---" * (len(experiment.items) + 2) + "|",
        *rows,
        "",
    ]


def _ratio(ours: Entry, other: Entry) -> str:
    ratio, _ = ours.over(other)
    if ratio is None:
        return ""
    seeds = sorted(ours.errors.keys() & other.errors.keys())
    if ours.deterministic or other.deterministic or len(seeds) < 2:
        return f"{ratio:.2f}"
    mine, theirs = (np.array([entry.errors[seed] for seed in seeds]) for entry in (ours, other))
    drawn = np.random.default_rng(0).integers(len(seeds), size=(_RESAMPLES, len(seeds)))
    low, high = np.quantile(mine[drawn].mean(axis=1) / theirs[drawn].mean(axis=1), _INTERVAL)
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"
