"""The lines of the report, with their targets."""

from collections.abc import Mapping

from benchmarks.report import Line, at_least, at_most
from load.measured import Measured
from load.scenes import Pace, Scene

WALL_SECONDS = {60: 2.0, 500: 15.0}
"""Of a round to which clients come at once, on PostgreSQL to two replicas: two cores are two processes' worth."""

REPLICAS = {"sqlite": 1, "postgresql": 2}
CONTRIBUTION_MS = {100: 250.0}
SLOW_RATIO = 2.0
"""How much longer the contributions of 100 clients may take beside slow sockets."""

KB = 1000


def judge(scene: Scene, measured: Measured) -> list[Line]:
    """What is told of one round. Only the plain ones have targets of time; every one has those of what is kept."""
    name, seen, clients = scene.name, measured.seen, measured.clients
    plain = not scene.slow and scene.kills is None
    whole = scene.pace is Pace.BURST and scene.replicas == REPLICAS[scene.database]
    wall = WALL_SECONDS.get(clients) if plain and whole else None
    p99 = CONTRIBUTION_MS.get(clients) if plain and scene.pace is Pace.STEADY else None
    lines = [
        at_most(f"{name}: acknowledged contributions lost", measured.lost, "", 0),
        at_least(f"{name}: rounds that ended right", int(measured.published), "", 1),
        at_most(f"{name}: requests refused", sum(seen.refused.values()), "", 0),
        _line(f"{name}: round", seen.wall, "s", wall),
        _line(f"{name}: contribution, p99", measured.quantile("contribution", 0.99), "ms", p99),
        Line(f"{name}: server", measured.cpu, "CPU s"),
        Line(f"{name}: database", measured.database_cpu, "CPU s"),
        Line(f"{name}: driver", seen.driver, "CPU s"),
        Line(f"{name}: memory of the server", measured.memory, "MB"),
        Line(f"{name}: bytes up for each client", seen.sent / clients / KB, "kB"),
        Line(f"{name}: bytes down for each client", seen.received / clients / KB, "kB"),
        Line(f"{name}: requests sent again", seen.retried, ""),
    ]
    for endpoint in seen.seconds:
        quantiles = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        lines += [
            Line(f"{name}: {endpoint}, {label}", measured.quantile(endpoint, q), "ms")
            for label, q in quantiles.items()
            if (endpoint, label) != ("contribution", "p99")
        ]
    if scene.kills is not None:
        lines.append(at_least(f"{name}: kills", scene.kills, "", 1))
    return lines


def judge_slow(found: Mapping[Scene, Measured]) -> list[Line]:
    """How much longer contributions took beside slow sockets."""
    lines = []
    for scene, measured in found.items():
        plain = found.get(Scene(scene.database, scene.clients))
        if scene.slow and plain is not None:
            ratio = measured.quantile("contribution", 0.99) / plain.quantile("contribution", 0.99)
            target = SLOW_RATIO if scene.clients in CONTRIBUTION_MS else None
            lines.append(_line(f"{scene.name}: contribution, p99 over that without them", ratio, "", target))
    return lines


def _line(name: str, value: float, unit: str, most: float | None) -> Line:
    return Line(name, value, unit) if most is None else at_most(name, value, unit, most)
