"""What the numbers have to be. Speeds are ratios, so that a slower machine does not change them."""

from benchmarks.contestants import LAPACK, OURS, SCIKIT_LEARN
from benchmarks.measure import Timing
from benchmarks.problem import Problem
from benchmarks.report import Line, at_least, at_most, not_measured

AGREEMENT = 1e-9
PEERS = ("GPyTorch", "JAX")
"""Those that run in an environment of their own."""

LARGE = 1024
SMALL = 100


def step_target(problem: Problem, peer: str) -> float | None:
    """How many times our step has to be done in the time of the peer's."""
    if peer == SCIKIT_LEARN:
        return 5.0 if (problem.rows, problem.features) == (100, 1) else 10.0
    return {"GPyTorch": 15.0 if problem.rows <= SMALL else 4.0, "JAX": 3.0}.get(peer)


def unmeasured(problem: Problem, asked: bool) -> list[Line]:
    """The lines of the peers of an environment that is not there."""
    targets = [(peer, step_target(problem, peer)) for peer in PEERS]
    return [
        not_measured(f"step {problem.label}: {peer} / fgpr", "x", least, asked)
        for peer, least in targets
        if least is not None
    ]


def lapack_target(problem: Problem) -> float | None:
    """How many times the time of potrf and potri our step may take; below 100 rows the calls themselves cost more."""
    if problem.rows < SMALL:
        return None
    if problem.rows >= LARGE:
        return 1.3
    return 1.8 if problem.kernel == "rbf" else 2.1


def judge(problem: Problem, timing: Timing, disagreements: dict[str, float]) -> list[Line]:
    """The lines of one problem."""
    ours = timing.step[OURS]
    lines = [
        Line(f"step {problem.label}", 1e6 * ours, "us"),
        Line(f"prediction {problem.label}", 1e3 * timing.prediction[OURS], "ms"),
    ]
    for peer, theirs in timing.step.items():
        least = step_target(problem, peer)
        if least is not None:
            lines.append(at_least(f"step {problem.label}: {peer} / fgpr", theirs / ours, "x", least))
    most = lapack_target(problem)
    ratio = ours / timing.step[LAPACK]
    name = f"step {problem.label}: fgpr / {LAPACK}"
    lines.append(Line(name, ratio, "x") if most is None else at_most(name, ratio, "x", most))
    for peer, theirs in timing.prediction.items():
        if peer != OURS:
            name = f"prediction {problem.label}: {peer} / fgpr"
            lines.append(Line(name, theirs / timing.prediction[OURS], "x"))
    for peer, difference in disagreements.items():
        lines.append(at_most(f"agreement {problem.label}: {peer}", difference, "relative", AGREEMENT))
    return lines
