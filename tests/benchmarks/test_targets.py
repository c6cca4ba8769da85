import pytest

from benchmarks.measure import Timing
from benchmarks.problem import Problem
from benchmarks.report import Line, at_least, at_most
from benchmarks.targets import judge, lapack_target, step_target, unmeasured


@pytest.mark.parametrize(
    ("peer", "rows", "features", "target"),
    [
        ("scikit-learn", 8, 1, 10.0),
        ("scikit-learn", 100, 1, 5.0),
        ("scikit-learn", 100, 8, 10.0),
        ("scikit-learn", 1850, 21, 10.0),
        ("GPyTorch", 100, 8, 15.0),
        ("GPyTorch", 256, 21, 4.0),
        ("JAX", 1024, 21, 3.0),
        ("fgpr", 1024, 21, None),
    ],
)
def test_the_target_of_a_step(peer: str, rows: int, features: int, target: float | None) -> None:
    assert step_target(Problem("rbf", rows, features), peer) == target


@pytest.mark.parametrize(
    ("kernel", "rows", "target"),
    [
        ("rbf", 32, None),
        ("rbf", 100, 1.8),
        ("matern-3/2", 100, 2.1),
        ("matern-3/2", 512, 2.1),
        ("rbf", 1024, 1.3),
        ("matern-3/2", 1850, 1.3),
    ],
)
def test_the_target_beside_lapack(kernel: str, rows: int, target: float | None) -> None:
    assert lapack_target(Problem(kernel, rows, 21)) == target


def test_a_value_at_its_target_meets_it() -> None:
    assert at_least("speed", 4.0, "x", 4.0) == Line("speed", 4.0, "x", ">= 4", met=True)
    assert at_least("speed", 3.99, "x", 4.0).met is False
    assert at_most("difference", 1e-9, "relative", 1e-9).met is True
    assert at_most("difference", float("nan"), "relative", 1e-9).met is False


def test_the_lines_of_a_problem() -> None:
    timing = Timing(
        {"fgpr": 0.002, "scikit-learn": 0.030, "GPyTorch": 0.006, "LAPACK": 0.001},
        {"fgpr": 0.010, "scikit-learn": 0.020, "GPyTorch": 0.005},
    )
    lines = {line.name: line for line in judge(Problem("rbf", 256, 21), timing, {"scikit-learn": 1e-12})}
    assert lines["step rbf 256x21"].to_json() == {
        "name": "step rbf 256x21",
        "value": pytest.approx(2000.0),
        "unit": "us",
        "target": None,
        "met": None,
    }
    assert lines["step rbf 256x21: scikit-learn / fgpr"].value == pytest.approx(15.0)
    assert lines["step rbf 256x21: scikit-learn / fgpr"].met is True
    assert lines["step rbf 256x21: GPyTorch / fgpr"].met is False
    assert lines["step rbf 256x21: fgpr / LAPACK"].met is False
    assert lines["prediction rbf 256x21: GPyTorch / fgpr"].value == pytest.approx(0.5)
    assert lines["prediction rbf 256x21: GPyTorch / fgpr"].met is None
    assert lines["agreement rbf 256x21: scikit-learn"].met is True
    assert len(lines) == 8


def test_peers_that_are_not_there_are_missed_unless_nobody_asked_for_them() -> None:
    for asked, met in ((True, False), (False, None)):
        lines = unmeasured(Problem("rbf", 256, 21), asked)
        assert [line.to_json() for line in lines] == [
            {"name": f"step rbf 256x21: {peer} / fgpr", "value": None, "unit": "x", "target": target, "met": met}
            for peer, target in (("GPyTorch", ">= 4"), ("JAX", ">= 3"))
        ]
