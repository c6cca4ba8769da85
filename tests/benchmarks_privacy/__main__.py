"""`make privacy`: what differential privacy costs in accuracy on FD001. Exit status 1 where a target is missed."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.real_data import training_file
from benchmarks.report import REPORTS, Line, at_most, conclude
from benchmarks_privacy import study
from benchmarks_privacy.study import Outcome

REPORT = REPORTS / "privacy.json"
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
    path = training_file()
    if path is None:
        console.print("there is no cmapss/train_FD001.txt: set FGPR_DATA to the folder of the data sets")
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
    return conclude(console, lines, options.report)


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
