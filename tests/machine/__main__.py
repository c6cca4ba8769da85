"""`make machine`: random lives of a federation on the real service. Exit status 1 where an invariant breaks."""

import argparse
import logging
import multiprocessing
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import structlog
from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from machine import campaign
from machine.databases import on_postgresql, on_sqlite
from machine.plants import PLANTS, Plant
from machine.violation import Violation
from support import postgres

DATABASES = ("sqlite", "postgresql")
STEPS = 10_000
BATCH = 100
"""Examples at a time; each batch has the next seed."""

EXAMPLE_STEPS = 30
WIDTH = 150


@dataclass(frozen=True)
class Run:
    """What came of one database.

    Attributes:
        counts: of everything.
        violation: how it was reached; None where there is none.
    """

    counts: Counter[str]
    violation: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write the report; 1 where an invariant breaks or a planted fault is not found."""
    parser = argparse.ArgumentParser(prog="make machine", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="on each database, at least")
    parser.add_argument("--seed", type=int, default=None, help="of the first batch; a new one by default")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(f"seed {seed}", highlight=False)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=_quiet) as pool:
        running = {name: pool.submit(_live, name, options.steps, seed) for name in DATABASES}
        found = [pool.submit(_finds, place) for place in range(len(PLANTS))]
        runs = {name: one.result() for name, one in running.items()}
        plants = [(plant, one.result()) for plant, one in zip(PLANTS, found, strict=True)]
    console.print(_table(runs))
    for name, run in runs.items():
        if run.violation is not None:
            console.print(f"[red]{name}[/red]\n", run.violation, highlight=False, markup=True)
    return conclude(console, list(_lines(runs, plants, options.steps, seed)), REPORTS / "machine.json")


def _quiet() -> None:
    # What the aggregator tells its operator is not part of the table.
    logging.disable(logging.CRITICAL)
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


def _live(name: str, steps: int, seed: int) -> Run:
    if name == "sqlite":
        return _batches(on_sqlite, steps, seed)
    with postgres.running() as server:
        return _batches(on_postgresql(server), steps, seed)


def _batches(new_database: campaign.NewDatabase, steps: int, seed: int) -> Run:
    counts: Counter[str] = Counter()
    while counts["steps"] < steps:
        try:
            counts += campaign.run(new_database, BATCH, EXAMPLE_STEPS, seeded=seed)
        except Exception:
            # Whatever ends a life that should go on is a fault, named or not; the notes tell its steps.
            return Run(counts, traceback.format_exc())
        seed += 1
    return Run(counts)


def _finds(place: int) -> str | None:
    plant = PLANTS[place]
    try:
        with plant.take_out():
            campaign.run(on_sqlite, BATCH, EXAMPLE_STEPS, seeded=plant.seed, shrink=False)
    except Violation as violation:
        return str(violation) if violation.number in plant.found_as else None
    return None


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
