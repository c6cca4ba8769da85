"""Drawings of the report as SVG: curves over rounds with their runs, rates on logarithmic axes, bands of posteriors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fgpr.experiments.experiment import Experiment
from fgpr.experiments.rates import KNOWN_TRUTH, ROUNDS_OF, curves_of, theorem_rate
from fgpr.experiments.records import Record
from fgpr.experiments.theorems import BATCHES, THEOREMS, TRAINING

_WIDTH_95 = 1.96
"""Standard deviations on either side of the mean of a band that holds 95 %."""
_COLOURS = ("tab:blue", "tab:orange", "tab:green")

_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "fgpr", "font.size": 8.0, "lines.linewidth": 1.2}
"""Text as text and no random ids: small files that change only where the figures do."""


def draw_curves(experiment: Experiment, records: Sequence[Record], path: Path, keys: Sequence[str], label: str) -> bool:
    """Every run thin and their median thick, one panel an item and variant.

    Args:
        experiment: whose records they are.
        records: of it.
        path: of the SVG.
        keys: name of the curve, one a variant.
        label: of the upright axis.

    Returns:
        Whether there is anything to see, here as in the other drawings: without panels there is no file.
    """
    panels = [
        (curves, variant, item)
        for variant, key in zip(experiment.variants, keys, strict=True)
        for item in experiment.items
        if (curves := list(curves_of(records, item, variant, key).values()))
    ]
    if not panels:
        return False
    with _figure(path, len(panels)) as axes:
        for axis, (curves, variant, item) in zip(axes, panels, strict=True):
            for curve in curves:
                axis.plot(curve, linewidth=0.5, color="0.65")
            axis.plot(np.median(curves, axis=0), color=_COLOURS[0], label=f"median of {len(curves)} runs")
            axis.set(title=f"{item} {variant}".strip(), xlabel="round", ylabel=label, yscale="log")
            axis.legend(frameon=False)
    return True


def draw_theorems(records: Sequence[Record], path: Path) -> bool:
    """Means over runs by iteration, the noise where there is one truth and the gradient everywhere, beside 1 / t."""
    panels = [(variant, "noise") for variant in KNOWN_TRUTH] + [(variant, "gradient") for variant in THEOREMS.variants]
    there = [
        (variant, key)
        for variant, key in panels
        if any(curves_of(records, f"M={batch}", variant, key) for batch in BATCHES)
    ]
    labels = {"noise": "squared error of the noise sd", "gradient": "squared gradient"}
    if not there:
        return False
    with _figure(path, len(there)) as axes:
        for axis, (variant, key) in zip(axes, there, strict=True):
            iterations = TRAINING.steps * np.array(ROUNDS_OF[key])[1:]
            highest = 0.0
            for batch, colour in zip(BATCHES, _COLOURS, strict=True):
                curves = list(curves_of(records, f"M={batch}", variant, key).values())
                if curves:
                    mean = np.mean(curves, axis=0)[1:]
                    highest = max(highest, mean[0])
                    rate = theorem_rate(records, batch, variant, key)
                    told = "" if rate is None or rate.slope is None else f", slope {rate.slope:.1f}"
                    axis.plot(iterations, mean, color=colour, label=f"M = {batch}{told}")
            axis.plot(iterations, highest * iterations[0] / iterations, ":", color="0.3", label="1 / t")
            axis.set(title=variant, xlabel="iteration", ylabel=labels[key], xscale="log", yscale="log")
            axis.legend(frameon=False)
    return True


def draw_posteriors(records: Sequence[Record], path: Path) -> bool:
    """One panel a posterior: the mean with its 95 % band, the truth and the client's rows."""
    panels = [posterior for record in records for posterior in record.values.get("posteriors", ())]
    if not panels:
        return False
    with _figure(path, len(panels)) as axes:
        for axis, one in zip(axes, panels, strict=True):
            x, mean = np.array(one["x"]), np.array(one["mean"])
            if "sd" in one:
                half = _WIDTH_95 * np.array(one["sd"])
                axis.fill_between(
                    x, mean - half, mean + half, color=_COLOURS[0], alpha=0.25, linewidth=0.0, label="95 %"
                )
            axis.plot(x, one["truth"], "--", color="0.3", label="truth")
            axis.plot(x, mean, color=_COLOURS[0], label="mean")
            axis.plot(*one["rows"], ".", color="0.2", markersize=2.0, label="rows", zorder=1.0)
            axis.set_title(one["title"], parse_math=False)
            axis.set_xlabel("x")
            axis.legend(frameon=False)
    return True


def draw_ablation(experiment: Experiment, records: Sequence[Record], path: Path) -> bool:
    """Mean RMSE by the weight of the high fidelity, with the standard error over seeds."""
    lines = []
    for system in experiment.systems:
        found = []
        for item in experiment.items:
            own = [
                record.values["rmse"]
                for record in records
                if (record.cell.item, record.cell.system) == (item, system.name) and "rmse" in record.values
            ]
            if own:
                spread = np.std(own, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
                found.append((float(item), np.mean(own), spread))
        if found:
            lines.append((system.title, zip(*found, strict=True)))
    if not lines:
        return False
    with _figure(path, 1) as (axis,):
        for title, line in lines:
            axis.errorbar(*line, marker=".", capsize=2.0, label=title)
        axis.set(xlabel="p_1, weight of the high fidelity", ylabel="RMSE, mean +- standard error", ylim=(0.0, None))
        axis.legend(frameon=False)
    return True


@contextmanager
def _figure(path: Path, panels: int) -> Iterator[Sequence[Any]]:
    # Here and not above: the other commands need no matplotlib.
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    columns = min(panels, 3)
    rows = -(-panels // columns)
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(3.6 * columns, 2.7 * rows), layout="constrained")
        FigureCanvasSVG(figure)
        yield [figure.add_subplot(rows, columns, place + 1) for place in range(panels)]
        figure.savefig(path, format="svg", metadata={"Date": None})
