"""`make liars`: lying clients among sixty engines, with and without groups. Exit status 1 where a target is missed."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from liars.campaign import CLIENTS, FEDERATIONS, Cell, carry_out, cells, honest_costs, trials

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build" / "reports" / "liars.json"
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
    data = _data()
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
        _line(f"{federation}: RMSE without a liar beside the plain mean's", cost, "ratio", MOST_COST)
        for federation, cost in costs.items()
    ]
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    missed = [line for line in lines if line["met"] is False]
    for line in missed:
        console.print(f"[red]missed[/red] {line['name']}: {line['value']:.3g}, target {line['target']}")
    judged = sum(line["met"] is not None for line in lines)
    console.print(f"{judged - len(missed)} of {judged} targets met; {options.report}")
    return 1 if missed else 0


def _data() -> Path | None:
    folder = os.environ.get("FGPR_DATA")
    file = None if folder is None else ROOT / folder / "cmapss" / "train_FD001.txt"
    return file if file is not None and file.is_file() else None


def outvoted(cell: Cell) -> bool:
    """Whether the groups outvote so many liars wherever they are dealt."""
    return 2 * cell.liars < FEDERATIONS[cell.federation].groups


def _lines(cell: Cell) -> list[dict[str, Any]]:
    name = f"{cell.federation}, {cell.liars} of {CLIENTS} {cell.lie}"
    return [
        _line(f"{name}: largest shift", cell.farthest, "log units"),
        _line(f"{name}: norm of the shift", cell.norm, "log units"),
        _line(f"{name}: RMSE ratio", cell.rmse_ratio, "ratio", MOST_HARM if outvoted(cell) else None),
        _line(f"{name}: rounds refused", cell.detected, "share"),
    ]


def _line(name: str, value: float, unit: str, most: float | None = None) -> dict[str, Any]:
    target, met = (None, None) if most is None else (f"<= {most:g}", value <= most)
    return {"name": name, "value": value, "unit": unit, "target": target, "met": met}


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
