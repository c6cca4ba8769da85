"""`make load`: rounds of up to 500 clients over HTTP, open loop. Exit status 1 where a target is missed.

Each client comes when it is scheduled to, all at once or 20 a second; latencies count from then. What clients compute,
signatures of requests included, is done before the clock starts.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, conclude
from load import balancer, scenes
from load.judged import judge, judge_slow
from load.measured import Measured
from load.scenes import DATABASES, Scene
from load.slow import SOCKETS

SIZES = (10, 50, 60, 100, 500)
WIDTH = 150
MB = 1e6
SHOWN = (
    "current",
    "prior",
    "roster",
    "entries",
    "contribution",
    "told of the cohort",
    "cohort",
    "opening",
    "told of the prior",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "load.json", help="where the JSON goes")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="clients a round")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--scenes", nargs="+", choices=("plain", "slow", "killed"), default=["plain", "slow", "killed"])
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    lines: list[Line] = []
    rounds, endpoints = _table_of_rounds(), _table_of_endpoints()
    found: dict[Scene, Measured] = {}
    for scene, measured in _played(options):
        found[scene] = measured
        console.print(f"{scene.name}: {measured.seen.wall:.2f} s", highlight=False)
        rounds.add_row(*_row(scene, measured))
        for endpoint in SHOWN:
            endpoints.add_row(scene.name, endpoint, *_latencies(measured, endpoint))
        lines += judge(scene, measured)
    lines += judge_slow(found)
    console.print(endpoints)
    console.print(rounds)
    if "killed" in options.scenes:
        console.print(f"replicas were killed behind {'HAProxy' if balancer.found() else 'clients that balance'}")
    return conclude(console, lines, options.report)


def _played(options: argparse.Namespace) -> Iterator[tuple[Scene, Measured]]:
    slow = [count for name, count in (("plain", 0), ("slow", SOCKETS)) if name in options.scenes]
    if slow:
        yield from scenes.rounds(options.sizes, options.databases, slow=slow)
    if "killed" in options.scenes:
        yield from scenes.killed()


def _table_of_rounds() -> Table:
    table = Table(title="Rounds: seconds of wall and of CPU, and what goes over the network")
    table.add_column("scene")
    for column in (
        "wall s",
        "server CPU s",
        "database CPU s",
        "driver CPU s",
        "server MB",
        "MB up",
        "MB down",
        "again",
        "kills",
    ):
        table.add_column(column, justify="right")
    return table


def _row(scene: Scene, measured: Measured) -> list[str]:
    seen = measured.seen
    return [
        scene.name,
        *(f"{seconds:.2f}" for seconds in (seen.wall, measured.cpu, measured.database_cpu, seen.driver)),
        f"{measured.memory:.0f}",
        f"{seen.sent / MB:.1f}",
        f"{seen.received / MB:.1f}",
        f"{seen.retried}",
        "" if scene.kills is None else f"{scene.kills}",
    ]


def _table_of_endpoints() -> Table:
    table = Table(title="Latencies from the scheduled time: ms")
    table.add_column("scene")
    table.add_column("endpoint")
    for column in ("requests", "p50", "p99", "max"):
        table.add_column(column, justify="right")
    return table


def _latencies(measured: Measured, endpoint: str) -> list[str]:
    quantiles = (measured.quantile(endpoint, q) for q in (0.5, 0.99, 1.0))
    return [f"{len(measured.seen.seconds[endpoint])}", *(f"{one:.1f}" for one in quantiles)]


if __name__ == "__main__":
    sys.exit(main())
