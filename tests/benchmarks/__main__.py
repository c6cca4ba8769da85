"""`make bench`: a step and a prediction timed beside the peers, and judged. Exit status 1 where a target is missed."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # has no stubs

from benchmarks.contestants import LAPACK, OURS, SCIKIT_LEARN, Contestant, Lapack, Ours, ScikitLearn
from benchmarks.measure import Timing, disagreement, interleave
from benchmarks.peer_process import PeerProcess, peer_process
from benchmarks.problem import KERNELS, QUICK_SIZES, SIZES, Problem
from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from benchmarks.targets import PEERS, judge, unmeasured

REPORT = REPORTS / "bench.json"
GIB = 1024**3
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, write the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three sizes, short turns")
    parser.add_argument("--without-peers", action="store_true", help="GPyTorch and JAX are not asked for")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    lines: list[Line] = []
    with threadpool_limits(1), _peers(options.without_peers) as peers:
        console.print(_introduction(peers))
        for kernel in KERNELS:
            table = _table(kernel, peers)
            for rows, features in QUICK_SIZES if options.quick else SIZES:
                problem = Problem(kernel, rows, features)
                timing, disagreements = _run(problem, peers, 1.0 if options.quick else 6.0)
                judged = judge(problem, timing, disagreements)
                if peers is None:
                    judged += unmeasured(problem, asked=not options.without_peers)
                lines += judged
                table.add_row(*_row(problem, timing, disagreements, judged))
            console.print(table)
    if not options.quick:
        lines += _large_client(console)
    return conclude(console, lines, options.report)


def _peers(left_out: bool) -> AbstractContextManager[PeerProcess | None]:
    return nullcontext() if left_out else peer_process()


def _introduction(peers: PeerProcess | None) -> str:
    if peers is None:
        return (
            f"{' and '.join(PEERS)} were not measured: make setup-peers; their targets count as missed unless they are"
            " left out by ARGS=--without-peers"
        )
    return "beside " + ", ".join(f"{name} {version}" for name, version in peers.versions.items())


def _run(problem: Problem, peers: PeerProcess | None, budget: float) -> tuple[Timing, dict[str, float]]:
    ours = Ours(problem)
    others: list[Contestant] = [ScikitLearn(problem), *(peers.contestants(problem) if peers else ()), Lapack(problem)]
    answers = {other.name: other.answer() for other in others}
    here = ours.answer()
    disagreements = {name: disagreement(here, there) for name, there in answers.items() if there is not None}
    return interleave([ours, *others], budget), disagreements


def _table(kernel: str, peers: PeerProcess | None) -> Table:
    table = Table(title=f"{kernel}: one thread, least of one interleaved run; x = times our time")
    for column in ("rows x inputs", "step us", *_names(peers), f"step / {LAPACK}"):
        table.add_column(column, justify="right")
    for column in ("prediction ms", *_names(peers), "largest difference"):
        table.add_column(column, justify="right")
    return table


def _names(peers: PeerProcess | None) -> list[str]:
    return [f"{name} x" for name in (SCIKIT_LEARN, *(peers.versions if peers else PEERS))]


def _row(problem: Problem, timing: Timing, disagreements: dict[str, float], judged: list[Line]) -> list[str]:
    missed = {line.name for line in judged if line.met is False}

    def told(name: str, text: str) -> str:
        return f"[red]{text}[/red]" if name in missed else text

    step, prediction, label = timing.step, timing.prediction, problem.label
    peers = [name for name in step if name not in (OURS, LAPACK)]
    missing = [name for name in PEERS if name not in step]
    ratios = [told(f"step {label}: {name} / fgpr", f"{step[name] / step[OURS]:.1f}") for name in peers]
    ratios += [told(f"step {label}: {name} / fgpr", "not measured") for name in missing]
    others = [f"{prediction[name] / prediction[OURS]:.1f}" for name in peers] + ["not measured" for _ in missing]
    limit = told(f"step {label}: fgpr / {LAPACK}", f"{step[OURS] / step[LAPACK]:.2f}")
    return [
        f"{problem.rows} x {problem.features}",
        f"{1e6 * step[OURS]:,.0f}",
        *ratios,
        limit,
        f"{1e3 * prediction[OURS]:.2f}",
        *others,
        f"{max(disagreements.values()):.0e}",
    ]


def _large_client(console: Console) -> list[Line]:
    command = [sys.executable, "-m", "benchmarks.large_client"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(finished.stdout)
    console.print(
        f"one client of {told['rows']:,} rows ({told['source']}) predicts by {told['method']}; the exact one:"
    )
    console.print(f"  {told['refusal'] or 'did not refuse'}", highlight=False)
    lines = [
        at_most("large client: train and predict at 1,000 inputs", told["seconds"], "s", 60.0),
        at_most("large client: peak memory", told["bytes"] / GIB, "GiB", 2.0),
        at_most("large client: RMSE / exact on 3,000 rows", told["rmse"] / told["exact_rmse"], "x", 1.01),
        at_least("large client: the exact posterior refuses", float(bool(told["refusal"])), "times", 1.0),
    ]
    for line in lines:
        console.print(f"  {line.name}: {line.value:.3g} {line.unit}, target {line.target}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
