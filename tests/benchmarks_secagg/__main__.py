"""`make bench-secagg`: what a round costs client, member and aggregator. Exit status 1 where a target is missed."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, conclude
from benchmarks_secagg.a_round import LOST, NUMBERS
from benchmarks_secagg.beside import SIZES as FLOWER_SIZES
from benchmarks_secagg.beside import flower_process, judge_beside, measure_flower
from benchmarks_secagg.cost import KB, Cost, judge, measure
from benchmarks_secagg.flower_round import FlowerCost

REPORT = REPORTS / "bench-secagg.json"
SIZES = (10, 60, 100, 300, 1000)
QUICK = (10, 60)
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make bench-secagg", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten and sixty clients only")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    lines: list[Line] = []
    table, beside = _table(), _table_beside()
    with flower_process() as flower:
        if flower is None:
            console.print("Flower is not installed, so nothing is measured beside it: make setup-flower")
        else:
            console.print(f"Flower {flower.versions['Flower']} in its own process")
        for clients in QUICK if options.quick else SIZES:
            cost = measure(clients)
            lines += judge(cost)
            table.add_row(*_row(cost))
            if flower is not None and clients in FLOWER_SIZES:
                theirs = measure_flower(flower, cost)
                lines += judge_beside(cost, theirs)
                beside.add_row(*_row_beside(cost, theirs))
    console.print(table)
    if beside.row_count:
        console.print(beside)
    return conclude(console, lines, options.report)


def _table() -> Table:
    table = Table(title=f"One round, L = {NUMBERS}, {LOST:.0%} of clients and members lost: CPU ms and kB")
    times = ("client", "its JSON", "member", "its JSON", "aggregator", "its JSON", "a cohort")
    for column in ("clients", "seats", *times, "upload kB", "opening kB", "plan kB", "cohort kB"):
        table.add_column(column, justify="right")
    return table


def _row(cost: Cost) -> list[str]:
    times = (
        cost.client,
        cost.client_json,
        cost.member,
        cost.member_json,
        cost.aggregator,
        cost.aggregator_json,
        cost.view,
    )
    sizes = (cost.upload, cost.opening, cost.plan, cost.cohort)
    return [
        f"{cost.clients:,}",
        f"{cost.seats}",
        *(f"{time:,.1f}" for time in times),
        *(f"{size / KB:,.1f}" for size in sizes),
    ]


def _table_beside() -> Table:
    table = Table(title="The same beside Flower's SecAgg+: CPU ms and kB of one client and of the server")
    table.add_column("clients", justify="right")
    for what in ("client and member", "aggregator", "kB up"):
        for whose in ("", ", Flower", ", Flower / fgpr"):
            table.add_column(what + whose, justify="right")
    return table


def _row_beside(ours: Cost, theirs: FlowerCost) -> list[str]:
    pairs = (
        (ours.client + ours.member, theirs.client),
        (ours.aggregator, theirs.server),
        ((ours.upload + ours.opening) / KB, theirs.upload / KB),
    )
    cells = [cell for fgpr, flower in pairs for cell in (f"{fgpr:,.1f}", f"{flower:,.1f}", f"{flower / fgpr:,.1f}")]
    return [f"{ours.clients:,}", *cells]


if __name__ == "__main__":
    sys.exit(main())
