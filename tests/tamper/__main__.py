"""`make tamper`: each tampering with the log of 20 rounds, against one checkpoint held outside. Exit 1 on a miss."""

import argparse
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, conclude
from support import postgres
from tamper import campaign, histories, tampering
from tamper.campaign import Tally
from tamper.site import played

ROUNDS = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, tamper, print, write the report; 1 where anything was missed."""
    parser = argparse.ArgumentParser(prog="make tamper", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--postgresql", action="store_true", help="on PostgreSQL; on SQLite otherwise")
    parser.add_argument("--report", type=Path, default=REPORTS / "tamper.json", help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    with (
        tempfile.TemporaryDirectory(prefix="fgpr-tamper-") as name,
        _database(postgresql=options.postgresql) as url,
        Progress(console=console, disable=not sys.stdout.isatty()) as progress,
    ):
        playing = progress.add_task("rounds", total=options.rounds)
        with played(Path(name), options.rounds, url, lambda _: progress.advance(playing)) as site:
            faults = list(campaign.honest(site))
            for fault in faults:
                console.print(f"[red]{fault}[/red]")
            leaves = site.aggregator.raw_leaves()
            chosen, forks = list(tampering.every(site)), list(histories.forks(site, leaves))
            task = progress.add_task("tampering", total=len(chosen) + len(forks))
            found = campaign.run(site, chosen, lambda: progress.advance(task))
            found |= campaign.run_forks(forks, lambda: progress.advance(task))
    _print(console, found.values(), f"{options.rounds} rounds, {len(leaves)} leaves, one checkpoint held outside")
    return max(conclude(console, _lines(found.values()), options.report), bool(faults))


def _print(console: Console, found: Collection[Tally], title: str) -> None:
    table = Table("tampering", "tried", "found from outside", "found by the doctor", title=title)
    for one in found:
        table.add_row(one.kind, str(one.total), str(one.outside), "" if one.doctor is None else str(one.doctor))
    console.print(table)
    for one in found:
        for what in one.missed:
            console.print(f"[red]missed[/red] {one.kind}: {what}")


def _lines(found: Collection[Tally]) -> list[Line]:
    lines: list[Line] = []
    for one in found:
        lines.append(at_least(f"{one.kind}: found from outside", one.outside, f"of {one.total}", one.total))
        if one.doctor is not None:
            lines.append(at_least(f"{one.kind}: found by the doctor", one.doctor, f"of {one.total}", one.total))
    total = sum(one.total for one in found)
    share = sum(one.outside for one in found) / total
    return [*lines, Line("tamperings tried", total, "tamperings"), at_least("found / total", share, "share", 1.0)]


@contextmanager
def _database(*, postgresql: bool) -> Iterator[str | None]:
    if not postgresql:
        yield None
        return
    with postgres.running() as server, server.database() as url:
        yield url


if __name__ == "__main__":
    sys.exit(main())
