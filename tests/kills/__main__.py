"""`make kill`: the aggregator is killed at every statement, on either side of every commit, and at every write.

`make pause`: it is stopped there, while another replica does its work; and each request and each answer is lost once.
Exit status 1 where a fault was not injected or anything was wrong once the round had been played to its end.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from kills import planted
from kills.campaign import Outcome, Played, prepare, run
from kills.copies import Copies, PostgresCopies, SqliteCopies
from kills.faults import Fault, Faults, StatementFaults, SyscallFaults, missing_tool
from kills.losses import LOST, LossFaults
from kills.pauses import PauseFaults, impatient
from kills.script import CLIENTS, ENDS, Act, acts
from kills.tripwire import WRITING
from support import postgres

KINDS = ("statement", "commit", "KILL", "EIO", "ENOSPC", *LOST)
PARTS = ("sqlite", "postgresql", "syscalls", "losses", "paused-sqlite", "paused-postgresql")
KILLING = PARTS[:3]
EACH = 80
"""Of so many statements and reading transactions the short form takes one; it takes every commit of a change."""

EACH_CALL = 8
"""Of so many system calls and ways to fail it takes one."""

EACH_LOSS = 3
"""Of so many requests and answers it loses one."""

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
"""Thousands of copies: in memory each flush costs nothing. Killed are processes, not the machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print, write the report; 1 where anything is broken."""
    parser = argparse.ArgumentParser(prog="make kill", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "kill.json", help="where the JSON goes")
    parser.add_argument("--quick", action="store_true", help="on SQLite: every commit of a change, some others")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="some of the parts; by default those of make kill")
    parser.add_argument("--acts", type=int, help="faults in the first so many acts only")
    parser.add_argument("--from-act", type=int, default=1, help="faults from that act on only, from 1")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument(
        "--planted-bug", action="store_true", help="with audit entries in a transaction of their own: must exit 1"
    )
    options = parser.parse_args(arguments)
    parts = options.only or (PARTS[:1] if options.quick else KILLING)
    if "syscalls" in parts and (reason := missing_tool()):
        parser.error(reason)
    patch = planted.leaves_in_their_own_transaction if options.planted_bug else _nothing
    seen = {chapter: {act.name for act in acts() if act.chapter < chapter} for chapter in ENDS}
    first = {(act.chapter, act.name) for act in acts()[options.from_act - 1 : options.acts]}

    def among(act: Act) -> bool:
        # One client does what the first one does, and what was done in an earlier round is done again: the short form
        # leaves them in peace.
        alike = options.quick and (act.name in seen[act.chapter] or any(name in act.name for name in CLIENTS[1:-1]))
        return (act.chapter, act.name) in first and not alike

    console = Console(width=None if sys.stdout.isatty() else 120)
    lines: list[Line] = []
    for part in parts:
        faults = _faults(part)
        begun = time.monotonic()
        with _copies(part) as (copies, folder):
            site = prepare(copies, folder / "keys", impatient(patch) if part.startswith("paused") else patch)
            steps = run(site, copies, faults, _some if options.quick else _all, options.jobs, among)
            told = track(steps, part, sum(map(among, acts())), console=console, disable=not sys.stdout.isatty())
            played = list(told)
        _print(console, part, played)
        lines += _lines(part, played, sampled=options.quick)
        lines.append(Line(f"{part}: time", time.monotonic() - begun, "s"))
    return conclude(console, lines, options.report)


def _faults(part: str) -> Faults:
    if part.startswith("paused"):
        return PauseFaults()
    return {"syscalls": SyscallFaults, "losses": LossFaults}.get(part, StatementFaults)()


def _nothing() -> None:
    """No bug but those that there are."""


def _all(_place: int, found: Sequence[Fault]) -> Sequence[Fault]:
    return found


def _some(place: int, found: Sequence[Fault]) -> Sequence[Fault]:
    # Others in each act, since acts are alike.
    return [
        fault
        for number, fault in enumerate(found)
        if fault.what.endswith(WRITING) or (number + 7 * place) % _one_in(fault) == 0
    ]


def _one_in(fault: Fault) -> int:
    return EACH_LOSS if fault.kind in LOST else EACH if fault.kind in KINDS[:2] else EACH_CALL


@contextmanager
def _copies(part: str) -> Iterator[tuple[Copies, Path]]:
    with tempfile.TemporaryDirectory(prefix="fgpr-kill-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        if not part.endswith("postgresql"):
            yield SqliteCopies(folder), folder
            return
        with postgres.running() as server:
            yield PostgresCopies(server), folder


def _print(console: Console, part: str, played: Sequence[Played]) -> None:
    table = Table("act", *KINDS, "injected", "broken", title=f"{part}: faults found in each act")
    for one in played:
        counted = Counter(fault.kind for fault in one.found)
        injected, broken = sum(made.injected for made in one.outcomes), [made for made in one.outcomes if made.wrong]
        cells = [str(counted[kind] or "") for kind in KINDS]
        table.add_row(f"{one.act.chapter}: {one.act.name}", *cells, str(injected), str(len(broken)))
    console.print(table)
    for made in (made for one in played for made in one.outcomes if made.wrong or not made.injected):
        console.print(f"[red]{_told(made)}[/red]", highlight=False)


def _told(made: Outcome) -> str:
    fault = made.fault
    what = "; ".join(made.wrong) or "nothing was wrong"
    return f"{made.act}, {fault.kind} {fault.at} ({fault.what}), injected {made.injected}: {what}".replace("[", "\\[")


def _lines(part: str, played: Sequence[Played], *, sampled: bool) -> list[Line]:
    lines = []
    outcomes = [made for one in played for made in one.outcomes]
    for kind in KINDS:
        found = sum(fault.kind == kind for one in played for fault in one.found)
        if not found:
            continue
        chosen = [made for made in outcomes if made.fault.kind == kind]
        injected, broken = sum(made.injected for made in chosen), sum(bool(made.wrong) for made in chosen)
        name = f"{part}: {kind} faults"
        lines += [
            Line(f"{name} enumerated", found, "faults"),
            at_least(f"{name} injected", injected, "faults", len(chosen) if sampled else found),
            at_most(f"{name} broken", broken, "faults", 0),
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
