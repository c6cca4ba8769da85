"""`make bench-predict`: a cold start of an offline prediction. Exit status 1 where a target is missed."""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_most, conclude
from benchmarks_predict.cold_start import CYCLES, Start, prepare, start

REPORT = REPORTS / "bench-predict.json"
SECONDS = 1.0
MEGABYTES = 150.0
STARTS = 9
ROWS = (20, 130)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make bench-predict", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three starts each")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console()
    lines: list[Line] = []
    table = Table(
        "rows",
        "starts",
        "median s",
        "slowest s",
        "processor s",
        "MB at most",
        title=f"{CYCLES} cycles, 1 sensor, offline",
    )
    for rows in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            home, data = prepare(Path(folder), rows)
            starts = [start(Path(folder), home, data) for _ in range(3 if options.quick else STARTS)]
        lines += judged(rows, starts)
        seconds = [one.seconds for one in starts]
        table.add_row(
            str(rows),
            str(len(starts)),
            f"{statistics.median(seconds):.2f}",
            f"{max(seconds):.2f}",
            f"{statistics.median([one.cpu for one in starts]):.2f}",
            f"{max(one.megabytes for one in starts):.0f}",
        )
    console.print(table)
    return conclude(console, lines, options.report)


def judged(rows: int, starts: Sequence[Start]) -> list[Line]:
    """The report's lines: the median of the seconds, since other programs may run beside, and the worst memory."""
    seconds = [one.seconds for one in starts]
    name = f"{CYCLES} cycles from {rows} rows, cold start"
    return [
        at_most(f"{name}: median", statistics.median(seconds), "s", SECONDS),
        Line(f"{name}: slowest", max(seconds), "s"),
        Line(f"{name}: processor time, median", statistics.median([one.cpu for one in starts]), "s"),
        at_most(f"{name}: peak resident memory", max(one.megabytes for one in starts), "MB", MEGABYTES),
    ]


if __name__ == "__main__":
    sys.exit(main())
