"""`make privacy`: what differential privacy costs in accuracy on FD001. Exit status 1 where a target is missed."""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.targets import Line, at_most
from benchmarks_privacy import study
from benchmarks_privacy.study import Outcome

REPORT = Path(__file__).resolve().parents[2] / "build" / "reports" / "privacy.json"
FILE = "train_FD001.txt"
SEEDS = (1, 2, 3)
MANY = 4
"""Parties an engine where there are more: 240 with a quarter of the rows each."""
FEW_EPSILONS = (1.0, 8.0)
LARGEST_RATIO = {1.0: 1.1, 8.0: 1.02}
"""Of the error with noise over that without, by epsilon."""
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the report; 1 where a target is missed, 2 without data."""
    parser = argparse.ArgumentParser(prog="make privacy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    path = Path(os.environ.get("FGPR_DATA", "data")) / FILE
    if not path.is_file():
        console.print(f"there is no {path}: set FGPR_DATA to the folder of the C-MAPSS files")
        return 2
    outcomes: list[Outcome] = []
    for seed in SEEDS[:1] if options.quick else SEEDS:
        for share, epsilons in ((1, study.EPSILONS), (MANY, FEW_EPSILONS)):
            for outcome in study.study(path, seed, share, epsilons):
                outcomes.append(outcome)
                console.print(
                    f"seed {seed}, {outcome.parties} clients, epsilon {outcome.epsilon:g}: {outcome.rmse:.4f}"
                )
    lines, table = summarise(outcomes)
    console.print(table)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps([line.to_json() for line in lines], indent=1) + "\n", encoding="utf-8")
    judged = [line for line in lines if line.met is not None]
    missed = [line for line in judged if not line.met]
    for line in missed:
        console.print(f"[red]missed[/red] {line.name}: {line.value:.4g} {line.unit}, target {line.target}")
    console.print(f"{len(judged) - len(missed)} of {len(judged)} targets met; {options.report}")
    return 1 if missed else 0


def summarise(outcomes: Sequence[Outcome]) -> tuple[list[Line], Table]:
    """The report and the table: means over the seeds, and the worst of them."""
    title = f"FD001, sensor {study.SENSOR}, {study.ROUNDS} rounds, clip {study.CLIP}, delta {study.DELTA:g}"
    table = Table(title=title)
    for column in ("clients", "epsilon", "noise / clip", "RMSE", "over none", "worst", "coverage", "moved", "shrunk"):
        table.add_column(column, justify="right")
    lines: list[Line] = []
    plain = {(one.parties, one.seed): one.rmse for one in outcomes if math.isinf(one.epsilon)}
    for parties, epsilon in sorted({(one.parties, one.epsilon) for one in outcomes}, key=lambda key: (key[0], -key[1])):
        group = [one for one in outcomes if (one.parties, one.epsilon) == (parties, epsilon)]
        ratios = [one.rmse / plain[one.parties, one.seed] for one in group]
        ratio, rmse, coverage, moved, shrunk = (
            sum(values) / len(values)
            for values in (
                ratios,
                [one.rmse for one in group],
                [one.coverage for one in group],
                [one.moved for one in group],
                [one.shrunk for one in group],
            )
        )
        noised = not math.isinf(epsilon)
        name = f"{parties} clients, " + (f"epsilon {epsilon:g}" if noised else "no noise")
        lines += [Line(f"{name}: RMSE", rmse, "sd"), Line(f"{name}: coverage of 95 %", coverage, "share")]
        if noised:
            lines += [
                at_most(f"{name}: RMSE over none", ratio, "ratio", LARGEST_RATIO[epsilon])
                if epsilon in LARGEST_RATIO
                else Line(f"{name}: RMSE over none", ratio, "ratio"),
                Line(f"{name}: RMSE over none, worst seed", max(ratios), "ratio"),
                Line(f"{name}: hyper-parameters moved by up to", moved, "log"),
                at_most(f"{name}: epsilon counted", max(one.spent for one in group), "epsilon", epsilon),
            ]
        table.add_row(
            f"{parties}",
            (f"{epsilon:g}" if epsilon else "0: the start") if noised else "no noise",
            f"{group[0].multiplier:.2f}" if group[0].multiplier else "",
            f"{rmse:.4f}",
            f"{ratio:.4f}",
            f"{max(ratios):.4f}",
            f"{coverage:.3f}",
            f"{moved:.3f}" if noised else "",
            f"{shrunk:.0%}" if group[0].multiplier else "",
        )
    return lines, table


if __name__ == "__main__":
    sys.exit(main())
