"""`make machine`: random lives of a federation on the real service. Exit status 1 where an invariant breaks."""

import argparse
import multiprocessing
import secrets
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from machine.lives import Run, finds, live, quiet
from machine.plants import PLANTS, Plant

DATABASES = ("sqlite", "postgresql")
STEPS = 10_000
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write the report; 1 where an invariant breaks or a planted fault is not found."""
    parser = argparse.ArgumentParser(prog="make machine", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="on each database, at least")
    parser.add_argument("--seed", type=int, default=None, help="of the first batch; a new one by default")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(f"seed {seed}", highlight=False)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=quiet) as pool:
        running = {name: pool.submit(live, name, options.steps, seed) for name in DATABASES}
        found = [pool.submit(finds, place) for place in range(len(PLANTS))]
        runs = {name: one.result() for name, one in running.items()}
        plants = [(plant, one.result()) for plant, one in zip(PLANTS, found, strict=True)]
    console.print(_table(runs))
    for name, run in runs.items():
        if run.violation is not None:
            console.print(f"[red]{name}[/red]\n", run.violation, highlight=False, markup=True)
    return conclude(console, list(_lines(runs, plants, options.steps, seed)), REPORTS / "machine.json")


def _table(runs: dict[str, Run]) -> Table:
    table = Table("", *runs, title="Random lives of a federation")
    names = sorted(set().union(*(run.counts for run in runs.values())))
    for name in sorted(names, key=lambda name: (name not in ("examples", "steps"), name)):
        table.add_row(name, *(str(run.counts[name]) for run in runs.values()))
    table.add_row("violations", *(str(int(run.violation is not None)) for run in runs.values()), style="bold")
    return table


def _lines(runs: dict[str, Run], plants: list[tuple[Plant, str | None]], steps: int, seed: int) -> list[Line]:
    lines = [Line("seed", seed, "")]
    for name, run in runs.items():
        taken = run.counts["steps"]
        lines += [
            at_least(f"{name}: steps", taken, "steps", steps),
            Line(f"{name}: examples", run.counts["examples"], "examples"),
            at_most(f"{name}: violations", int(run.violation is not None), "violations", 0),
        ]
        if taken and run.violation is None:
            # None in n: with 95 % confidence the rate is below 3 / n.
            lines.append(Line(f"{name}: rate of violations below, at 95 %", 3 / taken, "per step"))
        lines += [Line(f"{name}: {what}", count, "") for what, count in sorted(run.counts.items())]
    return [*lines, *(at_least(f"found when planted: {plant.name}", int(bool(how)), "", 1) for plant, how in plants)]


if __name__ == "__main__":
    sys.exit(main())
