"""`make agent-kills`: kill -9 of an agent at each of its steps; exit status 1 where a round or a promise was lost.

One real agent takes part in rounds of a real aggregator with three others. It is killed at every write, fsync, rename,
link and removal in its home, before, within and after each request, and started again. Wanted: the same bytes whenever
something is sent again, one contribution a round and prior version, and every round published with this agent in it.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agent_kills.campaign import Outcome, play
from benchmarks.report import REPORTS, Line, at_least, at_most, conclude

KILLS, QUICK = 200, 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make agent-kills", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "agent-kills.json", help="where the JSON goes")
    parser.add_argument("--kills", type=int, default=KILLS, help="how many")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} kills")
    options = parser.parse_args(arguments)
    kills = QUICK if options.quick else options.kills
    if kills < 1:
        parser.error("--kills is at least 1")
    console = Console(width=None if sys.stdout.isatty() else 120)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcome = play(Path(folder), kills, lambda number, step: console.print(f"{number:4} of {kills}: {step}"))
    console.print(_table(outcome))
    for failure in outcome.failed:
        console.print(failure)
    return conclude(console, lines(outcome, kills, time.monotonic() - began), options.report)


def lines(outcome: Outcome, kills: int, seconds: float) -> list[Line]:
    """The report."""
    return [
        at_least("lives that were to be killed", outcome.kills.total() + outcome.survived, "lives", kills),
        Line("of these, lives that ended before their step came", outcome.survived, "lives"),
        Line("steps of one round", len(outcome.steps), "steps"),
        Line("kinds of steps killed at", len(outcome.kills), "kinds"),
        at_most("lives that ended otherwise", len(outcome.failed), "lives", 0),
        at_most("bodies sent again with other bytes", outcome.other_bytes, "bodies", 0),
        at_most("second contributions", outcome.second, "contributions", 0),
        at_most("stored contributions that differ from those written", outcome.differing, "contributions", 0),
        Line("rounds", outcome.rounds, "rounds"),
        at_most("rounds lost", outcome.rounds - outcome.published, "rounds", 0),
        Line("seconds", seconds, "s"),
    ]


def _table(outcome: Outcome) -> Table:
    table = Table("step", "kills", title="kill -9 of an agent")
    kinds: Counter[str] = Counter()
    for step, count in outcome.kills.items():
        kinds[step.split()[0] if not step.startswith("half") else " ".join(step.split()[:2])] += count
    for kind, count in sorted(kinds.items()):
        table.add_row(kind, str(count))
    return table


if __name__ == "__main__":
    sys.exit(main())
