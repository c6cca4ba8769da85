"""`make recover`: kill -9 while contributions come in; seconds until it works again, and what was lost.

Exit status 1 where an acknowledged contribution is gone, a round did not end, or recovery took too long.
"""

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from recoveries.trial import Trial, trial
from support import postgres
from support.databases import migrated_sqlite
from support.process_site import process_site

CLIENTS = 8
TRIALS = 20
LATEST = 0.25
"""Seconds after which the kill comes at the latest: about as long as the contributions take."""

SECONDS = 15.0
"""Most that recovery may take; most of it is Python that starts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, print, write the report; 1 where something was lost."""
    parser = argparse.ArgumentParser(prog="make recover", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "recover.json", help="where the JSON goes")
    parser.add_argument("--trials", type=int, default=TRIALS, help="on each database")
    parser.add_argument("--databases", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    table, lines = Table("database", title="kill -9 while contributions come in"), list[Line]()
    for column in (
        "kills",
        "seconds to recover, median",
        "longest",
        "acknowledged before",
        "of these lost",
        "published",
    ):
        table.add_column(column, justify="right")
    for database in options.databases:
        found = _trials(database, options.trials)
        seconds = [one.seconds for one in found]
        acknowledged, lost = sum(one.acknowledged for one in found), sum(one.lost for one in found)
        published = sum(one.published for one in found)
        between = sum(0 < one.acknowledged < CLIENTS for one in found)
        table.add_row(
            database,
            str(len(found)),
            f"{statistics.median(seconds):.2f}",
            f"{max(seconds):.2f}",
            str(acknowledged),
            str(lost),
            str(published),
        )
        lines += [
            Line(f"{database}: kills", len(found), "kills"),
            Line(f"{database}: seconds to recover, median", statistics.median(seconds), "s"),
            at_most(f"{database}: seconds to recover, longest", max(seconds), "s", SECONDS),
            at_least(f"{database}: contributions acknowledged before a kill", acknowledged, "contributions", 1),
            # A kill before the first receipt or after the last one interrupts nothing.
            at_least(f"{database}: kills between two receipts", between, "kills", 1),
            at_most(f"{database}: acknowledged contributions lost", lost, "contributions", 0),
            at_least(f"{database}: rounds published", published, "rounds", len(found)),
        ]
    console.print(table)
    return conclude(console, lines, options.report)


def _trials(database: str, count: int) -> list[Trial]:
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if database == "sqlite":
            return _played(folder, migrated_sqlite(folder / "fgpr.db"), count, draw)
        with postgres.running(durable=True) as server, server.database() as url:
            return _played(folder, url, count, draw)


def _played(folder: Path, url: str, count: int, draw: random.Random) -> list[Trial]:
    with process_site(folder, url, CLIENTS) as site:
        return [trial(site, number, draw.uniform(0.0, LATEST)) for number in range(1, count + 1)]


if __name__ == "__main__":
    sys.exit(main())
