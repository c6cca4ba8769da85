"""Pictures of the report, and what goes beside them in words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fgpr.experiments.drawings import draw_ablation, draw_curves, draw_posteriors, draw_theorems
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.rates import words_of_rates
from fgpr.experiments.records import Record

CURVES = {
    "example1": (("noise", "theta"), "squared distance"),
    "example2": (("theta",), "squared distance"),
    "example3": (("curve",), "RMSE"),
}
"""What is drawn round by round: a curve for each variant, as in the paper, and what the axis says."""


def words(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Findings that are no mean of an RMSE: kernels chosen, slopes and floors."""
    lines = words_of_rates(experiment, records)
    for variant in experiment.variants:
        chosen: dict[str, Counter[str]] = {}
        for record in records:
            if record.cell.system == "fgpr-evidence" and record.cell.variant == variant and "kernel" in record.values:
                chosen.setdefault(record.cell.item, Counter())[record.values["kernel"]] += 1
        if chosen:
            told = "; ".join(
                f"{item}: " + ", ".join(f"{name} {count}" for name, count in counter.most_common())
                for item, counter in chosen.items()
            )
            lines += [f"Kernels that federated evidence chose ({variant}): {told}.", ""]
    return lines + _noise(experiment, records) + _other_choices(experiment, records)


def draw(experiment: Experiment, records: Sequence[Record], folder: Path) -> list[str]:
    """Draw what there is to draw into `folder`; the Markdown lines that show it."""
    path = folder / f"{experiment.name}.svg"
    good = [record for record in records if record.error is None]
    if experiment.name in CURVES:
        keys, label = CURVES[experiment.name]
        drawn = draw_curves(experiment, good, path, keys, label)
    elif experiment.name == "theorems":
        drawn = draw_theorems(good, path)
    elif experiment.name == "ablation":
        drawn = draw_ablation(experiment, good, path)
    else:
        drawn = draw_posteriors(good, path)
    return [f"![{experiment.title}]({folder.name}/{path.name})", ""] if drawn else []


def _noise(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """The noise that the exact optimum fits to the training engines, each in its own scale."""
    told = []
    for item in experiment.items:
        own = [
            r.values["noise sd"]
            for r in records
            if r.cell.item == item and r.cell.system == "fgpr-optimum" and "noise sd" in r.values
        ]
        if own:
            told.append(f"{item}: {np.mean(own):.3f}")
    if not told:
        return []
    return [
        f"Fitted noise sd of the training engines, at the exact optimum: {', '.join(told)}.",
        "It is one noise for all of them, so that it is no bound for the error of single engines, which may have less.",
        "",
    ]


def _other_choices(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Errors that the evidence's records hold beside that of the chosen kernel."""
    lines: list[str] = []
    names = sorted({key for record in records for key in record.values if key.startswith(("rmse of ", "rmse by "))})
    for variant in experiment.variants:
        for system in experiment.systems:
            rows = []
            for name in names:
                cells = []
                for item in experiment.items:
                    own = [
                        record.values[name]
                        for record in records
                        if (record.cell.variant, record.cell.item, record.cell.system) == (variant, item, system.name)
                        and name in record.values
                    ]
                    cells.append(f"{np.mean(own):.4f}" if own else "")
                if any(cells):
                    rows.append(f"| {name} | " + " | ".join(cells) + " |")
            if rows:
                lines += [f"Each choice of {system.title!r} ({variant or 'all'}):", ""]
                lines += ["| | " + " | ".join(experiment.items) + " |", "|---" * (len(experiment.items) + 1) + "|"]
                lines += [*rows, ""]
    return lines
