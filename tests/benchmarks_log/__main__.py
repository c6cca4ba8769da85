"""`make bench-log`: appending, proving and verifying with 100,000 entries. Exit status 1 where a target is missed."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from aggregator.storage.engine import Database
from benchmarks.report import REPORTS, Line, at_most, conclude
from benchmarks_log.long_log import LongLog
from benchmarks_log.measured import Costs, Head, measure
from fgpr.auditlog import entries
from fgpr.auditlog.bundle import Bundle
from support import postgres
from support.databases import migrated_sqlite

ENTRIES, CLIENTS = 100_000, 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a long log, measure, print, write the report."""
    parser = argparse.ArgumentParser(prog="make bench-log", description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--report", type=Path, default=REPORTS / "bench-log.json", help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    made = LongLog(options.clients)
    with (
        tempfile.TemporaryDirectory(prefix="fgpr-log-") as name,
        Progress(console=console, disable=not sys.stdout.isatty()) as progress,
    ):
        making = progress.add_task("making", total=options.entries)
        leaves = []
        for leaf in islice(made.leaves(), options.entries):
            leaves.append(leaf)
            progress.advance(making)
        costs = {}
        for kind in ("sqlite", "postgresql"):
            filling = progress.add_task(kind, total=len(leaves))
            with _database(kind, Path(name)) as database:
                costs[kind] = measure(database, leaves, Head(made), partial(progress.advance, filling))
        wall, cpu, size = _verified(Path(name), made, leaves)
    kinds = Counter(entries.decode(leaf).kind for leaf in leaves[: 10 * options.clients])
    console.print(
        f"{len(leaves):,} entries of {options.clients} clients, {size / 1e6:.0f} MB: of the first, {dict(kinds)}"
    )
    _print(console, costs)
    console.print(f"fgpr-audit verify of the whole log: {cpu:.1f} s of CPU, {wall:.1f} s by the clock")
    return conclude(console, _lines(costs, wall, cpu), options.report)


def _verified(folder: Path, made: LongLog, leaves: Sequence[bytes]) -> tuple[float, float, int]:
    """Seconds by the clock and of CPU that `fgpr-audit verify` takes in a process of its own; bytes of the bundle."""
    path = folder / "log.jsonl"
    note = Head(made)(made.frontier.size, made.frontier.root())
    path.write_bytes(b"".join(Bundle(made.public_key, (note,), tuple(leaves)).lines()))
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "client_agent.audit_cli", "verify", "--log", str(path), "--json"],
        env=os.environ | {"FGPR_HOME": str(folder / "nowhere")},
        capture_output=True,
        check=True,
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    if (told["holds"], told["entries"]) != (True, len(leaves)):
        raise RuntimeError(f"fgpr-audit verified {told['entries']} entries of {len(leaves)}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, path.stat().st_size


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[Database]:
    if kind == "sqlite":
        database = Database(migrated_sqlite(folder / "fgpr.db"))
        try:
            yield database
        finally:
            database.close()
        return
    with postgres.running() as server, server.database() as url:
        database = Database(url)
        try:
            yield database
        finally:
            database.close()


def _print(console: Console, costs: dict[str, Costs]) -> None:
    table = Table("milliseconds", *(f"{kind}, {what}" for kind in costs for what in ("median", "p99")))
    for name in ("append", "committed", "inclusion", "consistency"):
        times = [getattr(one, name) for one in costs.values()]
        table.add_row(name, *(f"{value:.3f}" for one in times for value in (one.median, one.p99)))
    console.print(table)


def _lines(costs: dict[str, Costs], wall: float, cpu: float) -> list[Line]:
    lines = []
    for kind, one in costs.items():
        lines += [
            at_most(f"{kind}: append, median", one.append.median, "ms", 1.0),
            Line(f"{kind}: append, p99", one.append.p99, "ms"),
            Line(f"{kind}: append with a transaction of its own, median", one.committed.median, "ms"),
            at_most(f"{kind}: inclusion proof, median", one.inclusion.median, "ms", 5.0),
            Line(f"{kind}: inclusion proof, p99", one.inclusion.p99, "ms"),
            at_most(f"{kind}: consistency proof, median", one.consistency.median, "ms", 5.0),
            Line(f"{kind}: consistency proof, p99", one.consistency.p99, "ms"),
        ]
    return [
        *lines,
        at_most("fgpr-audit verify, CPU", cpu, "s", 30.0),
        Line("fgpr-audit verify, by the clock", wall, "s"),
    ]


if __name__ == "__main__":
    sys.exit(main())
