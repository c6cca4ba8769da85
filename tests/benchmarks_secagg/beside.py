"""Flower's SecAgg+ beside ours: the same vector, clients, losses and threshold, asked of its own process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from benchmarks.peer_process import PeerProcess, peer_process
from benchmarks.report import ROOT, Line, at_least, at_most
from benchmarks_secagg.a_round import LOST, NUMBERS, WEIGHT
from benchmarks_secagg.cost import KB, Cost
from benchmarks_secagg.flower_round import FlowerCost, FlowerRound

PYTHON = ROOT / ".venv-flower" / "bin" / "python"
SIZES = (10, 60)
"""Of a hundred clients it takes minutes: its work at the server grows with the cube of n."""

PRECISION = 1e-4
"""Its codec has 22 bits for -8..8, of which a weight of 192 in 1,000 leaves a fifth."""

LEAST: dict[int, dict[str, float]] = {60: {"client and member": 10.0, "aggregator": 100.0}}


@contextmanager
def flower_process(python: Path = PYTHON) -> Iterator[PeerProcess | None]:
    """Flower's process while it is needed; None where it is not installed."""
    with peer_process(python, "benchmarks_secagg.flower") as process:
        yield process


def measure_flower(process: PeerProcess, ours: Cost) -> FlowerCost:
    """Play the round of which `ours` was measured."""
    asked = FlowerRound(ours.clients, int(LOST * ours.clients), ours.threshold, NUMBERS, WEIGHT)
    return FlowerCost(**process.ask(asdict(asked)))


def judge_beside(ours: Cost, theirs: FlowerCost) -> list[Line]:
    """The lines of the report. Flower's client does in four stages what ours does as client and as member."""
    least = LEAST.get(ours.clients, {})

    def ratio(what: str, flower: float, fgpr: float) -> Line:
        name, limit = f"n = {ours.clients:,}: {what}, Flower / fgpr", least.get(what)
        return Line(name, flower / fgpr, "x") if limit is None else at_least(name, flower / fgpr, "x", limit)

    size = f"n = {ours.clients:,}"
    return [
        Line(f"{size}: Flower's client", theirs.client, "CPU ms"),
        Line(f"{size}: Flower's server", theirs.server, "CPU ms"),
        Line(f"{size}: Flower, bytes up", theirs.upload / KB, "kB"),
        at_most(f"{size}: Flower, error of the average", theirs.off, "absolute", PRECISION),
        ratio("client and member", theirs.client, ours.client + ours.member),
        ratio("aggregator", theirs.server, ours.aggregator),
        ratio("bytes up", theirs.upload, ours.upload + ours.opening),
    ]
