"""Problems as drawn: sizes of the paper's Table 1, scales, and the truth in the scale of the high fidelity."""

import numpy as np
import pytest
from scipy.stats import kstest

from fgpr.errors import DataError
from fgpr.experiments.problems import EXAMPLES, PROBLEMS, Problem, draw_problem, problem_named

SIZES = {
    "CURRIN": (40, 200),
    "PARK": (50, 300),
    "BRANIN": (20, 40, 200),
    "Hartmann-3D": (50, 100, 200),
    "Borehole": (50, 200),
    "linear": (20, 100),
    "nonlinear": (20, 100),
}


@pytest.mark.parametrize("problem", [*PROBLEMS, *EXAMPLES], ids=lambda problem: problem.name)
def test_sizes_and_scales(problem: Problem) -> None:
    drawn = draw_problem(problem, "uniform", 3)
    assert tuple(client.y.size for client in drawn.clients) == SIZES[drawn.problem.name]
    for client in drawn.clients:
        assert client.y.mean() == pytest.approx(0.0, abs=1e-12)
        assert client.y.std() == pytest.approx(1.0)
        assert client.X.min() >= 0.0
        assert client.X.max() <= 1.0
    assert drawn.X.shape == (1000, drawn.problem.dimensions)


def test_the_truth_is_in_the_scale_of_the_high_fidelity() -> None:
    drawn = draw_problem(problem_named("branin"), "corners", 5)
    high = drawn.clients[0]
    values = drawn.problem.fidelities[0].function(drawn.problem.inputs(high.X))
    truth = drawn.problem.fidelities[0].function(drawn.problem.inputs(drawn.X))
    assert drawn.y == pytest.approx((truth - values.mean()) / values.std(), rel=1e-12)
    assert drawn.rmse(drawn.y + 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("design", ["uniform", "corners", "latin"])
def test_what_is_tested_is_drawn_anew(design: str) -> None:
    drawn = draw_problem(problem_named("Hartmann-3D"), design, 5)
    tested = set(map(tuple, drawn.X.tolist()))
    assert len(tested) == 1000
    for client in drawn.clients:
        assert not tested & set(map(tuple, client.X.tolist()))
        # Nor near what a client measured, as noise on its rows would be: uniform points are as near as other ones.
        nearest = np.abs(drawn.X[:, np.newaxis] - client.X).max(axis=2).min(axis=1)
        afresh = np.random.default_rng(6).random((1000, 3))
        expected = np.abs(afresh[:, np.newaxis] - client.X).max(axis=2).min(axis=1)
        assert np.median(nearest) == pytest.approx(np.median(expected), rel=0.1)
    for column in drawn.X.T:
        assert kstest(column, "uniform").pvalue > 0.01


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (draw_problem(PROBLEMS[0], "latin", seed) for seed in (1, 1, 2))
    assert np.array_equal(first.clients[1].X, again.clients[1].X)
    assert not np.array_equal(first.X, other.X)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(DataError, match="no problem is named 'ackley'; there are CURRIN, PARK"):
        problem_named("ackley")
