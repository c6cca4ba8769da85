"""What sharing is worth: errors of a federation over those of a client alone, on the seeds that both have."""

from collections.abc import Mapping

from fgpr.experiments.curves import ratio_of_means
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.judged import Entry, Table

PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "table1": (("fgpr", "separate"), ("fgpr-evidence", "separate-evidence")),
    "table2": (("fgpr", "separate"),),
    "table3": (("fgpr", "separate"),),
}
"""By experiment, pairs of systems that have one kernel, or one menu of them, and differ in what trains it."""


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
    _, low, high = ratio_of_means(*([entry.errors[seed] for seed in seeds] for entry in (ours, other)))
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"
