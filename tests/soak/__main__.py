"""`make soak`: rounds after rounds against one real process, on SQLite and PostgreSQL, and what grows with them.

Exit status 1 where memory, files, threads or connections grow with the rounds.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, conclude
from soak.seen import NAMES, Seen, look
from soak.slope import Slope, slope
from support import postgres
from support.databases import migrated_sqlite
from support.process_site import process_site

CLIENTS = 4
WARM = 80
"""Rounds before which caches fill still: the aggregator keeps the last 64 plans; the slopes are those of the rest."""

FEWEST = 120
MOST = {"memory": 4.0, "files": 0.01, "threads": 0.01, "connections": 0.01, "database_connections": 0.01}
"""The slope that is borne although it can be told from 0, for each round: KB of memory, else pieces."""

UNITS = {"memory": "KB", "database": "KB"}
WIDTH = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, write the report; 1 where anything grows."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "soak.json", help="where the JSON goes")
    parser.add_argument("--minutes", type=float, default=10.0, help="for both databases together")
    parser.add_argument("--databases", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    table, lines = _table(), list[Line]()
    seconds = 60 * options.minutes / len(options.databases)
    for database in options.databases:
        rounds, seen = _soaked(database, seconds)
        lines.append(at_least(f"{database}: rounds", rounds, "rounds", FEWEST))
        if rounds < FEWEST:
            continue
        for name in NAMES:
            if database == "sqlite" and name == "database_connections":
                continue
            series = [getattr(one, name) for one in seen]
            kept = series[WARM:]
            found = slope(kept)
            lines += _lines(f"{database}: {name.replace('_', ' ')}", name, found)
            table.add_row(
                database,
                name.replace("_", " "),
                str(rounds),
                f"{np.mean(kept):,.0f} {UNITS.get(name, '')}",
                f"{found.value:+.4f}",
                f"{found.error:.4f}",
                f"<= {MOST[name]:g}, or 0 within 2 errors" if name in MOST else "",
            )
    console.print(table)
    return conclude(console, lines, options.report)


def _soaked(database: str, seconds: float) -> tuple[int, list[Seen]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if database == "sqlite":
            return _rounds(folder, migrated_sqlite(folder / "fgpr.db"), seconds)
        # With its vacuum, which a test that lasts a second needs not.
        with postgres.running(durable=True) as server, server.database() as url:
            return _rounds(folder, url, seconds)


def _rounds(folder: Path, url: str, seconds: float) -> tuple[int, list[Seen]]:
    seen: list[Seen] = []
    with process_site(folder, url, CLIENTS) as site:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            site.play(len(seen) + 1)
            seen.append(look(site.replicas[0], url))
    return len(seen), seen


def _lines(label: str, name: str, found: Slope) -> list[Line]:
    unit = f"{UNITS.get(name, 'pieces')} a round"
    error = Line(f"{label} slope's standard error", found.error, unit)
    if name not in MOST:
        return [Line(f"{label} slope", found.value, unit), error]
    met = found.value <= MOST[name] or found.is_flat
    return [Line(f"{label} slope", found.value, unit, f"<= {MOST[name]:g}, or 0 within two errors", met), error]


def _table() -> Table:
    table = Table("database", "of", title="What grows with the rounds, after warming up")
    for column in ("rounds", "mean", "slope a round", "its error", "target"):
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    sys.exit(main())
