"""`make new-engines`: the served prior on new engines with few cycles. Exit status 1 where a target is missed."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.real_data import training_file
from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from benchmarks_new_engines.study import COUNTS, LOCAL, METHODS, POLYNOMIAL, SEEDS, SENSORS, SERVED, Outcome, study

REPORT = REPORTS / "new-engines.json"
JUDGED = 10
"""Known cycles at which shares are judged."""
RMSE_SHARE = 0.85
NLPD_SHARE = 0.76
WIDTH = 150


@dataclass(frozen=True)
class Group:
    """One method at one number of known cycles, over engines, sensors and seeds.

    Attributes:
        rmse: mean.
        rmse_ahead: mean, of the cycles ahead alone.
        nlpd: mean.
        nlpd_median: median.
        coverage: mean.
        rmse_wins: share of engines on which its RMSE is lower than that of the local fit.
        nlpd_wins: the same of the negative log predictive density.
    """

    rmse: float
    rmse_ahead: float
    nlpd: float
    nlpd_median: float
    coverage: float
    rmse_wins: float
    nlpd_wins: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the report; 1 where a target is missed, 2 without data."""
    parser = argparse.ArgumentParser(prog="make new-engines", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, two sensors")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    path = training_file()
    if path is None:
        console.print("there is no cmapss/train_FD001.txt: set FGPR_DATA to the folder of the data sets")
        return 2
    outcomes: list[Outcome] = []
    for seed in SEEDS[:1] if options.quick else SEEDS:
        for sensor in SENSORS[:2] if options.quick else SENSORS:
            outcomes += study(path, sensor, seed)
            console.print(f"seed {seed}, sensor {sensor}: {len(outcomes)} predictions of engines")
    lines, table = summarise(outcomes)
    console.print(table)
    return conclude(console, lines, options.report)


def summarise(outcomes: Sequence[Outcome]) -> tuple[list[Line], Table]:
    """The report and the table."""
    table = Table(title="FD001, new engines, errors in the sensor's typical sd")
    for column in ("cycles", "method", "RMSE", "20 ahead", "better on", "NLPD", "median", "better on", "coverage"):
        table.add_column(column, justify="left" if column == "method" else "right")
    lines: list[Line] = []
    for count in sorted({one.known for one in outcomes}, key=COUNTS.index):
        groups = {method: group(outcomes, method, count) for method in METHODS}
        for method, found in groups.items():
            name = f"{count} cycles, {method}"
            lines.append(Line(f"{name}: RMSE", found.rmse, "sd"))
            lines.append(Line(f"{name}: RMSE of 20 ahead", found.rmse_ahead, "sd"))
            lines.append(Line(f"{name}: NLPD", found.nlpd, "nats"))
            lines.append(Line(f"{name}: NLPD, median", found.nlpd_median, "nats"))
            lines.append(Line(f"{name}: coverage of 95 %", found.coverage, "share"))
            if method != LOCAL:
                lines.append(_share(f"{name}: RMSE better on", found.rmse_wins, method, count, RMSE_SHARE))
                lines.append(_share(f"{name}: NLPD better on", found.nlpd_wins, method, count, NLPD_SHARE))
            compared = method != LOCAL
            table.add_row(
                str(count),
                method,
                f"{found.rmse:.3f}",
                f"{found.rmse_ahead:.3f}",
                f"{found.rmse_wins:.1%}" if compared else "",
                f"{found.nlpd:.2f}",
                f"{found.nlpd_median:.2f}",
                f"{found.nlpd_wins:.1%}" if compared else "",
                f"{found.coverage:.3f}",
            )
        ratio = groups[SERVED].rmse / groups[LOCAL].rmse
        lines.append(
            at_most(f"{count} cycles: mean RMSE of the served prior over the local fit's", ratio, "ratio", 1.0)
        )
        ratio = groups[SERVED].rmse / groups[POLYNOMIAL].rmse
        lines.append(Line(f"{count} cycles: mean RMSE of the served prior over the polynomial's", ratio, "ratio"))
        table.add_section()
    return lines, table


def group(outcomes: Sequence[Outcome], method: str, count: int) -> Group:
    """The figures of one method at one number of known cycles."""
    mine, local = (
        {(one.sensor, one.seed, one.engine): one for one in outcomes if (one.method, one.known) == (name, count)}
        for name in (method, LOCAL)
    )
    ours = list(mine.values())
    return Group(
        rmse=float(np.mean([one.rmse for one in ours])),
        rmse_ahead=float(np.mean([one.rmse_ahead for one in ours])),
        nlpd=float(np.mean([one.nlpd for one in ours])),
        nlpd_median=float(np.median([one.nlpd for one in ours])),
        coverage=float(np.mean([one.coverage for one in ours])),
        rmse_wins=float(np.mean([one.rmse < local[key].rmse for key, one in mine.items()])),
        nlpd_wins=float(np.mean([one.nlpd < local[key].nlpd for key, one in mine.items()])),
    )


def _share(name: str, value: float, method: str, count: int, least: float) -> Line:
    if (method, count) == (SERVED, JUDGED):
        return at_least(name, value, "share", least)
    return Line(name, value, "share")


if __name__ == "__main__":
    sys.exit(main())
