"""What sharing is worth: errors over those of a client alone, and of a federated network, on seeds that both have."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.special import stdtrit

from fgpr.experiments import table3
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Entry, Table

Pairs = tuple[tuple[str, str], ...]

ALONE: Mapping[str, Pairs] = {
    "table1": (("fgpr", "separate"), ("fgpr-evidence", "separate-evidence")),
    "table2": (("fgpr", "separate"),),
    "table3": (("fgpr", "separate"),),
}
"""By experiment, pairs of systems that have one kernel, or one menu of them, and differ in what trains it."""

NETWORKS: Mapping[str, Pairs] = {"table3": ((table3.HEADLINE, "ditto"),)}
"""By experiment, the system that its targets are judged by and the network that it is measured against."""


def words_of_sharing(experiment: Experiment, table: Table) -> list[str]:
    """Tables of ratios, in Markdown; empty where no pair has a seed in common."""
    return [
        *_words("What sharing is worth", "sharing helps", ALONE.get(experiment.name, ()), experiment, table),
        *_words("Beside a federated network", "FGPR is ahead", NETWORKS.get(experiment.name, ()), experiment, table),
    ]


def _words(title: str, gain: str, pairs: Pairs, experiment: Experiment, table: Table) -> list[str]:
    rows = list(_rows(pairs, experiment, table))
    if not rows:
        return []
    return [
        f"{title}: ratio of the mean errors on the seeds that both have, below 1 where {gain};",
        "+- is an interval of 90 % by Student's t over seeds; none with one seed, or where nothing is random.",
        "",
        "| | | " + " | ".join(experiment.items) + " |",
        "|---" * (len(experiment.items) + 2) + "|",
        *rows,
        "",
    ]


def _rows(pairs: Pairs, experiment: Experiment, table: Table) -> Iterator[str]:
    for variant in experiment.variants:
        for ours, other in pairs:
            entries = [
                (table.get((variant, item, ours)), table.get((variant, item, other))) for item in experiment.items
            ]
            cells = [_ratio(one, beside) if one and beside else "" for one, beside in entries]
            if any(cells):
                titles = f"{experiment.system(ours).title} over {experiment.system(other).title}"
                yield f"| {titles} | {variant} | " + " | ".join(cells) + " |"


def _ratio(ours: Entry, other: Entry) -> str:
    ratio, _ = ours.over(other)
    if ratio is None:
        return ""
    # One run of what has nothing random stands for all seeds of the other.
    drawn = [set(entry.errors) for entry in (ours, other) if not entry.deterministic]
    seeds = sorted(set.intersection(*drawn)) if drawn else []
    if len(seeds) < 2:
        return f"{ratio:.3f}"
    one, beside = (
        np.array([entry.mean if entry.deterministic else entry.errors[seed] for seed in seeds])
        for entry in (ours, other)
    )
    # Cochran (1977), Sampling Techniques, sec. 6.4: the error of a ratio of means of pairs.
    error = np.std(one - ratio * beside, ddof=1) / (beside.mean() * math.sqrt(len(seeds)))
    reach = float(stdtrit(len(seeds) - 1, 0.95) * error)
    return f"{ratio:.3f} +- {reach:.3f}"
