"""`make replay`: one signed request with each bit flipped and each component dropped, and 1,000 requests sent again.

Exit status 1 where one of them was accepted, or changed the database.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from replays.captured import Captured
from replays.flips import asked, contribution, statuses
from support import postgres
from support.aggregator import served
from support.databases import migrated_sqlite
from support.replicas import two_replicas

REPEATS = 1_000
WIDTH = 120

Counts = dict[str, tuple[int, int, int]]
"""Of each kind: how many were sent, how many of these were accepted, and how many were refused with 401 or 403."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Send, print, write the report; 1 where anything was accepted."""
    parser = argparse.ArgumentParser(prog="make replay", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "replay.json", help="where the JSON goes")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="captured requests beside one of each kind")
    parser.add_argument("--each-bit", type=int, default=1, metavar="N", help="of the body's bits one in N")
    options = parser.parse_args(arguments)
    # What the server says of what is no HTTP is not part of the table.
    logging.disable(logging.CRITICAL)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    counts, changed, taken = _flips(options.each_bit)
    lines = [
        at_most("rows changed by bit flips", changed, "tables", 0),
        # Or its copies would be refused for something else than the change.
        at_least("the same request without a change: accepted", taken, "requests", 1),
    ]
    with tempfile.TemporaryDirectory() as folder, postgres.running() as server, server.database() as url:
        for name, database in (("sqlite", migrated_sqlite(Path(folder) / "fgpr.db")), ("postgresql", url)):
            again, changed = _again(Path(folder) / name, database, options.repeats)
            counts |= {f"{name}: {kind}": count for kind, count in again.items()}
            lines.append(at_most(f"{name}: rows changed by replays", changed, "tables", 0))
    console.print(_table(counts))
    for kind, (sent, accepted, _) in counts.items():
        lines += [Line(f"{kind}: sent", sent, "requests"), at_most(f"{kind}: accepted", accepted, "requests", 0)]
    flips = [count for kind, count in counts.items() if "bit of" in kind]
    replays = [count for kind, count in counts.items() if "again" in kind]
    lines += [
        Line("bit flips sent", sum(sent for sent, *_ in flips), "requests"),
        at_most("bit flips accepted", sum(accepted for _, accepted, _ in flips), "requests", 0),
        at_least("replays sent", sum(sent for sent, *_ in replays), "requests", options.repeats),
        at_most("replays accepted", sum(accepted for _, accepted, _ in replays), "requests", 0),
    ]
    return conclude(console, lines, options.report)


def _flips(step: int) -> tuple[Counts, int, int]:
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        sent = contribution(parties[0])
        before = aggregator.dump()
        found = statuses(aggregator, sent, step)
        changed = sum(rows != before[table] for table, rows in aggregator.dump().items())
        taken = asked(aggregator, sent) == 200
    return {kind: _counted(counts) for kind, counts in found.items()}, changed, taken


def _again(folder: Path, database: str, repeats: int) -> tuple[Counts, int]:
    with two_replicas(folder, database, keeps_deadlines=False) as replicas:
        captured = Captured(replicas)
        captured.play(repeats)
        before = captured.dump()
        found = {"again at both replicas": _counted(captured.again(replicas.ports))}
        with captured.restarted() as port:
            found["again after a restart"] = _counted(captured.again([port]))
        changed = sum(rows != before[table] for table, rows in captured.dump().items())
    return found, changed


def _counted(statuses: "dict[int, int]") -> tuple[int, int, int]:
    accepted = sum(count for status, count in statuses.items() if status < 400)
    return sum(statuses.values()), accepted, sum(statuses.get(status, 0) for status in (401, 403))


def _table(counts: Counts) -> Table:
    table = Table("what", title="Changed and repeated requests")
    for column in ("sent", "accepted", "401 or 403", "no such route, or no HTTP"):
        table.add_column(column, justify="right")
    for kind, (sent, accepted, refused) in counts.items():
        table.add_row(kind, f"{sent:,}", str(accepted), f"{refused:,}", f"{sent - accepted - refused:,}")
    return table


if __name__ == "__main__":
    sys.exit(main())
