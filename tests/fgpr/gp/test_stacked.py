import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.stacked import STACKED_ROWS, StackedLikelihood
from support.kernels import EVERY, problem

RBF = kernel_named("rbf")


def problems(text: str, features: int, rows: int, count: int = 7) -> tuple[Kernel, Array, Array, Array]:
    kernel, X, y, theta = problem(text, features, rows * count)
    return kernel, X.reshape(count, rows, features), y.reshape(count, rows), theta


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("rows", [1, 5, STACKED_ROWS, STACKED_ROWS + 1])
@pytest.mark.parametrize("text", EVERY)
def test_stacked_problems_are_the_single_ones(text: str, rows: int, features: int) -> None:
    kernel, X, y, theta = problems(text, features, rows)
    thetas = theta + 0.1 * np.random.default_rng(0).normal(size=(7, theta.size))
    stacked = StackedLikelihood(kernel, X, y)
    for given in (theta, thetas):
        ours = stacked.value_and_gradient(given)
        for number, one in enumerate(np.broadcast_to(given, thetas.shape)):
            single = Likelihood(kernel, X[number], y[number]).value_and_gradient(one)
            assert ours.nats[number] == pytest.approx(single.nats, rel=1e-10, abs=1e-10)
            np.testing.assert_allclose(ours.gradient[number], single.gradient, rtol=1e-9, atol=1e-9)


def test_small_problems_of_an_ard_kernel_are_stacked() -> None:
    for text in ("rbf", "matern-1/2", "matern-3/2", "matern-5/2", "matern(nu=0.3)"):
        assert StackedLikelihood(*problems(text, 2, STACKED_ROWS)[:3]).is_stacked
        assert not StackedLikelihood(*problems(text, 2, STACKED_ROWS + 1)[:3]).is_stacked
    assert not StackedLikelihood(*problems("rbf + constant", 2, 4)[:3]).is_stacked
    assert not StackedLikelihood(*problems("rbf(x1)", 2, 4)[:3]).is_stacked


def test_a_singular_problem_gets_its_jitter_or_is_named() -> None:
    X = np.array([[[0.0], [1.0]], [[2.0], [2.0]]])
    y = np.array([[1.0, 2.0], [1.0, 1.0]])
    assert StackedLikelihood(RBF, X, y).value_and_gradient([0.0, -20.0, 0.0]).jitter == 1e-12
    with pytest.raises(NumericalError, match=r"problem 1: .*scale"):
        StackedLikelihood(RBF, X, [[1e200, 1.0], [1.0, 1.0]]).value_and_gradient([0.0, 0.0, 0.0])
    with pytest.raises(NumericalError, match=r"problem 2: .*overflow"):
        StackedLikelihood(RBF, [[[0.0], [1.0]], [[0.0], [1e300]]], y).value_and_gradient([0.0, 0.0, -5.0])


def test_bad_problems_are_refused() -> None:
    with pytest.raises(DataError, match="problem 2: row 1, input 1 is nan"):
        StackedLikelihood(RBF, [[[0.0], [1.0]], [[np.nan], [1.0]]], np.zeros((2, 2)))
    with pytest.raises(DataError, match="problem 1: the target in row 2 is inf"):
        StackedLikelihood(RBF, np.zeros((2, 2, 1)), [[0.0, np.inf], [0.0, 1.0]])
    with pytest.raises(DataError, match="not of one size"):
        StackedLikelihood(RBF, [[[0.0], [1.0]], [[0.0]]], np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"inputs of shape \(2, 2, 1\)"):
        StackedLikelihood(RBF, np.zeros((2, 2, 1)), np.zeros((2, 3)))
    with pytest.raises(DataError, match="none of them empty"):
        StackedLikelihood(RBF, np.zeros((2, 0, 1)), np.zeros((2, 0)))
    good = StackedLikelihood(RBF, [[[0.0], [1.0]]] * 2, np.zeros((2, 2)))
    with pytest.raises(DataError, match="3 thetas for 2 problems"):
        good.value_and_gradient(np.zeros((3, 3)))
    with pytest.raises(EncodingError):
        good.value_and_gradient(np.zeros(4))
