"""What a demonstration found out: a short table for people, JSON for machines, a picture for both."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from client_agent.predict import QUANTILE, PredictedRows
from demo.fleet import NewEngine

matplotlib.use("Agg")

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Findings:
    """The figures of one demonstration.

    Attributes:
        clients: engines that trained.
        new_engines: engines that came later.
        rounds_published: rounds that published a prior.
        rounds_aborted: rounds that did not.
        aggregate_max_error: largest difference, in log space, of a published theta from the exact weighted average.
        rmse_prior_mean: mean RMSE of new engines with the served prior, in units of each engine's sd.
        rmse_prior_sd: its standard deviation over the engines.
        rmse_optimum_mean: the same with the exact optimum of the pooled objective.
        rmse_noise_floor: the prior's noise sd, in the same units: no predictor gets below it.
        coverage_95: share of hidden rows inside the 95 % band.
        audit_entries: leaves of the audit log.
        audit_verified: whether the whole log and every document hold.
        seconds: of the whole demonstration.
        seconds_per_round: of the rounds alone.
    """

    clients: int
    new_engines: int
    rounds_published: int
    rounds_aborted: int
    aggregate_max_error: float
    rmse_prior_mean: float
    rmse_prior_sd: float
    rmse_optimum_mean: float
    rmse_noise_floor: float
    coverage_95: float
    audit_entries: int
    audit_verified: bool
    seconds: float
    seconds_per_round: float


def to_json(findings: Findings) -> str:
    """One JSON object."""
    return json.dumps(asdict(findings), indent=2) + "\n"


def print_table(console: Console, findings: Findings) -> None:
    """The table that a newcomer reads."""
    table = Table(title="What the federation learned", title_justify="left", show_header=False, box=box.SIMPLE_HEAD)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(style="dim", overflow="fold")
    rows = [
        ("engines that trained", findings.clients, "none showed its data or its update"),
        ("rounds published", findings.rounds_published, f"and {findings.rounds_aborted} aborted"),
        ("seconds a round", f"{findings.seconds_per_round:.1f}", "train, mask, upload, open"),
        ("prior off by", f"{findings.aggregate_max_error:.0e}", "from the exact weighted average (log)"),
        ("new engines", findings.new_engines, "fetched it and trained nothing"),
        (
            "prediction error",
            f"{findings.rmse_prior_mean:.3f}",
            f"RMSE in sd, +- {findings.rmse_prior_sd:.3f} over engines",
        ),
        ("best prior possible", f"{findings.rmse_optimum_mean:.3f}", "with all data in one place"),
        ("noise floor", f"{findings.rmse_noise_floor:.3f}", "the noise that the prior found"),
        ("in the 95 % band", f"{100 * findings.coverage_95:.1f} %", "of the rows that were hidden"),
        (
            "audit trail",
            "verified" if findings.audit_verified else "BROKEN",
            f"{findings.audit_entries} entries, priors recomputed",
        ),
    ]
    for name, value, remark in rows:
        table.add_row(name, str(value), remark)
    console.print(table)


def draw(path: Path, engine: NewEngine, rows: PredictedRows, sensor: str) -> None:
    """A picture of one new engine: what it knew, what was hidden, and the prediction with its band."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    cycles = rows.inputs[:, 0]
    axes.fill_between(cycles, rows.lower_95, rows.upper_95, alpha=0.2, label="95 % band for a measurement")
    axes.fill_between(
        cycles,
        rows.mean - QUANTILE * rows.sd_latent,
        rows.mean + QUANTILE * rows.sd_latent,
        alpha=0.35,
        label="95 % band for the trend",
    )
    axes.plot(cycles, rows.mean, linewidth=2, label="prediction")
    axes.plot(engine.known.cycles, engine.known.values, "o", markersize=3, color="black", label="known to the engine")
    axes.plot(
        engine.hidden.cycles, engine.hidden.values, "x", markersize=4, color="tab:red", label="hidden, for testing"
    )
    axes.set_xlabel("cycle")
    axes.set_ylabel(f"sensor {sensor}")
    axes.set_title(f"{engine.known.name}: a new engine, predicted with the federation's prior, without training")
    axes.legend(loc="best", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def grid(engine: NewEngine) -> np.ndarray:
    """Cycles to draw the prediction at."""
    last = max(engine.known.cycles.max(), engine.hidden.cycles.max())
    return np.arange(1.0, last + 1.0)
