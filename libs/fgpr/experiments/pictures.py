"""Pictures of the report, and what goes beside them in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fgpr.experiments.convergence import BATCHES, floor_of, slope_of
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.records import Record
from fgpr.gp.arrays import Array

CURVES = {"example1": "theta", "example2": "theta", "example3": "curve"}
"""What is drawn, round by round, of an experiment of curves."""

SLOPE = -0.8
"""Largest slope that counts as 1 / T."""


def words(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Findings that are no mean of an RMSE: kernels chosen, slopes and floors."""
    if experiment.name == "theorems":
        return _slopes(records)
    lines = []
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
    lines = []
    if experiment.name in CURVES:
        lines += _curves(experiment, records, folder, CURVES[experiment.name])
    elif experiment.name == "theorems":
        lines += _theorems(records, folder)
    elif experiment.name == "ablation":
        lines += _ablation(experiment, records, folder)
    return lines


def mean_curve(records: Sequence[Record], item: str, variant: str, key: str) -> Array | None:
    """The mean over seeds of a curve, or None where no record has it."""
    curves = [
        record.values[key]
        for record in records
        if record.cell.item == item and record.cell.variant == variant and key in record.values
    ]
    return np.mean(curves, axis=0) if curves else None


def _noise(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """The noise that the exact optimum fits: nothing predicts measurements better than that."""
    told = []
    for item in experiment.items:
        own = [
            r.values["noise sd"]
            for r in records
            if r.cell.item == item and r.cell.system == "fgpr-optimum" and "noise sd" in r.values
        ]
        if own:
            told.append(f"{item}: {np.mean(own):.3f}")
    return [f"Noise sd at the exact optimum, about the floor of any prediction: {', '.join(told)}.", ""] if told else []


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


def _slopes(records: Sequence[Record]) -> list[str]:
    lines = ["| scene | M | what | slope above the floor | floor | |", "|---|---|---|---|---|---|"]
    for variant in sorted({record.cell.variant for record in records}):
        for batch in BATCHES:
            for key, title in (("noise", "error of the noise sd, squared"), ("gradient", "gradient, squared")):
                curve = mean_curve(records, f"M={batch}", variant, key)
                if curve is None:
                    continue
                slope = slope_of(curve.tolist())
                told = "too few rounds above it" if slope is None else f"{slope:.2f}"
                judged = key == "noise" and variant == "homogeneous"
                verdict = "" if not judged or slope is None else "met" if slope <= SLOPE else "**missed**"
                lines.append(f"| {variant} | {batch} | {title} | {told} | {floor_of(curve.tolist()):.2e} | {verdict} |")
    return [*lines, ""]


def _curves(experiment: Experiment, records: Sequence[Record], folder: Path, key: str) -> list[str]:
    panels = [(variant, item) for variant in experiment.variants for item in experiment.items]
    with _figure(folder / f"{experiment.name}.svg", len(panels)) as axes:
        for axis, (variant, item) in zip(axes, panels, strict=True):
            for record in records:
                if (record.cell.variant, record.cell.item) == (variant, item) and key in record.values:
                    axis.plot(record.values[key], linewidth=0.7)
            axis.set(title=f"{item} {variant}".strip(), xlabel="round", yscale="log")
    return [f"![{experiment.title}]({folder.name}/{experiment.name}.svg)", ""]


def _theorems(records: Sequence[Record], folder: Path) -> list[str]:
    variants = sorted({record.cell.variant for record in records})
    with _figure(folder / "theorems.svg", 1 + len(variants)) as axes:
        for axis, (variant, key) in zip(
            axes, [("homogeneous", "noise"), *((one, "gradient") for one in variants)], strict=True
        ):
            for batch in BATCHES:
                curve = mean_curve(records, f"M={batch}", variant, key)
                if curve is not None:
                    axis.plot(np.arange(1, curve.size), curve[1:], label=f"M = {batch}")
            axis.set(title=f"{variant}: {key}", xlabel="round", xscale="log", yscale="log")
            if axis.lines:
                axis.legend()
    return [f"![What the theorems say]({folder.name}/theorems.svg)", ""]


def _ablation(experiment: Experiment, records: Sequence[Record], folder: Path) -> list[str]:
    with _figure(folder / "ablation.svg", 1) as (axis,):
        for system in experiment.systems:
            shares, means = [], []
            for item in experiment.items:
                own = [
                    r.values["rmse"]
                    for r in records
                    if (r.cell.item, r.cell.system) == (item, system.name) and r.values
                ]
                if own:
                    shares.append(float(item))
                    means.append(float(np.mean(own)))
            axis.plot(shares, means, marker="o", label=system.title)
        axis.set(xlabel="p_1, weight of the high fidelity", ylabel="RMSE")
        axis.legend()
    return [f"![CURRIN by the weight of the high fidelity]({folder.name}/ablation.svg)", ""]


@contextmanager
def _figure(path: Path, panels: int) -> Iterator[Sequence[Any]]:
    # Here and not above: the other commands need no matplotlib.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    columns = min(panels, 3)
    rows = -(-panels // columns)
    figure = Figure(figsize=(4.0 * columns, 3.2 * rows), layout="constrained")
    FigureCanvasSVG(figure)
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(panels)]
    yield axes
    figure.savefig(path, format="svg", metadata={"Date": None})
