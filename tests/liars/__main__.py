"""`make liars`: lying clients among sixty engines, with and without groups. Exit status 1 where a target is missed."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.real_data import training_file
from benchmarks.report import REPORTS, Line, at_most, conclude
from liars.campaign import CLIENTS, FEDERATIONS, Cell, carry_out, cells, honest_costs, trials

REPORT = REPORTS / "liars.json"
WIDTH = 150
MOST_HARM = 1.05
"""Largest ratio of held-out errors, for liars that are outvoted for certain."""
MOST_COST = 1.05
"""The same without a liar, beside the plain mean."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make liars", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one and three liars, one seed, two rounds")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    data = training_file()
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    source = "engines of the built-in generator" if data is None else "engines of C-MAPSS FD001"
    liars, seeds, rounds = ((1, 3), (0,), 2) if options.quick else ((1, 2, 3, 4, 5), (0, 1), 3)
    chosen = trials(data, liars, seeds, rounds)
    with Progress(console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("lying", total=len(chosen))
        outcomes = carry_out(chosen, options.processes, lambda: progress.advance(bar))
    found, costs = cells(outcomes), honest_costs(outcomes)
    console.print(_table(found, f"{CLIENTS} {source}, {rounds} rounds, {len(seeds)} seeds"))
    console.print(_costs(costs))
    lines = [line for cell in found for line in _lines(cell)]
    lines += [
        at_most(f"{federation}: RMSE without a liar beside the plain mean's", cost, "ratio", MOST_COST)
        for federation, cost in costs.items()
    ]
    return conclude(console, lines, options.report)


def outvoted(cell: Cell) -> bool:
    """Whether the groups outvote so many liars wherever they are dealt."""
    return 2 * cell.liars < FEDERATIONS[cell.federation].groups


def _lines(cell: Cell) -> list[Line]:
    name = f"{cell.federation}, {cell.liars} of {CLIENTS} {cell.lie}"
    return [
        Line(f"{name}: largest shift", cell.farthest, "log units"),
        Line(f"{name}: norm of the shift", cell.norm, "log units"),
        _held(f"{name}: RMSE ratio", cell.rmse_ratio, MOST_HARM if outvoted(cell) else None),
        Line(f"{name}: rounds refused", cell.detected, "share"),
    ]


def _held(name: str, value: float, most: float | None) -> Line:
    return Line(name, value, "ratio") if most is None else at_most(name, value, "ratio", most)


def _table(found: list[Cell], title: str) -> Table:
    table = Table("federation", "lie", "liars", title=title)
    for column in ("largest shift", "norm", "RMSE ratio", "rounds refused"):
        table.add_column(column, justify="right")
    for cell in found:
        mark = "*" if outvoted(cell) else ""
        table.add_row(
            cell.federation,
            cell.lie,
            f"{cell.liars}{mark}",
            f"{cell.farthest:.3f}",
            f"{cell.norm:.3f}",
            f"{cell.rmse_ratio:.3f}",
            f"{cell.detected:.0%}",
        )
    table.caption = "* outvoted for certain: fewer than half of the groups"
    return table


def _costs(costs: dict[str, float]) -> Table:
    table = Table("federation", "RMSE without a liar / plain mean's")
    for federation, cost in costs.items():
        table.add_row(federation, f"{cost:.4f}")
    return table


if __name__ == "__main__":
    sys.exit(main())
