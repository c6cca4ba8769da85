"""The Fisher information against its definition, differences of gradients and an expectation."""

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace
from support.kernels import EVERY, problem


def covariance(kernel: Kernel, X: Array, theta: Array) -> Array:
    there = kernel.place(X)
    there.rescale(theta)
    matrix = np.empty((len(X), len(X)), order="F")
    there.fill(matrix, None)
    total: Array = there.signal_variance * matrix + np.exp(2 * theta[1]) * np.eye(len(X))
    return total


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize("text", EVERY)
def test_the_information_is_its_definition(text: str, features: int) -> None:
    kernel, X, y, theta = problem(text, features)
    inverse = np.linalg.inv(covariance(kernel, X, theta))
    step = 1e-5
    products = [
        inverse @ (covariance(kernel, X, theta + step * unit) - covariance(kernel, X, theta - step * unit)) / (2 * step)
        for unit in np.eye(theta.size)
    ]
    expected = np.array([[0.5 * np.trace(a @ b) for b in products] for a in products])
    ours = Likelihood(kernel, X, y).curvature(theta)
    np.testing.assert_allclose(ours.information, expected, rtol=1e-6, atol=1e-6 * expected.max())
    assert Likelihood(kernel, X, y).information(theta).tolist() == ours.information.tolist()
    assert np.linalg.eigvalsh(ours.information).min() > -1e-9 * expected.max()


@pytest.mark.parametrize("text", ["rbf", "matern-3/2", "rbf + 0.5 * periodic(period=0.7)"])
def test_the_information_is_the_expected_hessian(text: str) -> None:
    """The mean of gradient differences over targets drawn from the model: y = L e with e of unit second moment."""
    kernel, X, _, theta = problem(text, 1, rows=10)
    root = np.linalg.cholesky(covariance(kernel, X, theta))
    step = 1e-5
    # The Hessian is quadratic in y, so that the 2n targets +-sqrt(n) L e_i have its exact mean.
    draws = [np.sqrt(10) * column for column in root.T]
    hessian = np.zeros((theta.size, theta.size))
    for y in draws:
        likelihood = Likelihood(kernel, X, y)
        for place, unit in enumerate(np.eye(theta.size)):
            up, down = (likelihood.value_and_gradient(theta + side * step * unit).gradient for side in (1, -1))
            hessian[place] += (up - down) / (2 * step) / len(draws)
    information = Likelihood(kernel, X, draws[0]).curvature(theta).information
    np.testing.assert_allclose(information, hessian, rtol=1e-6, atol=1e-6 * information.max())


def test_one_row_by_hand() -> None:
    """With v = s2 + n the information about the log sds is the outer product of (2 s2, 2 n) / v, over 2."""
    share = np.array([2 * 4.0, 2 * 0.25, 0.0]) / 4.25
    ours = Likelihood(kernel_named("rbf"), [[5.0]], [3.0]).curvature(np.log([2.0, 0.5, 1.0]))
    np.testing.assert_allclose(ours.information, 0.5 * np.outer(share, share), rtol=1e-13)


@pytest.mark.parametrize("text", ["rbf", "linear * rational-quadratic(x1, alpha=0.5) + matern(x1, nu=0.7)"])
def test_value_and_gradient_are_the_same_as_without(text: str) -> None:
    kernel, X, y, theta = problem(text, 3)
    likelihood = Likelihood(kernel, X, y)
    ours, plain = likelihood.curvature(theta), likelihood.value_and_gradient(theta)
    # Few rows of one kernel of the distance have a way of their own without an information: the same to rounding.
    assert ours.nats == pytest.approx(plain.nats, rel=1e-13)
    np.testing.assert_allclose(ours.gradient, plain.gradient, rtol=1e-11)
    assert ours.jitter == plain.jitter == 0.0


def test_memory_is_estimated_before_it_is_taken() -> None:
    kernel, X, y, theta = problem("rbf", 3)
    limit = 10 * 25 * 25 * 8
    with pytest.raises(DataError, match="25 rows need"):
        Likelihood(kernel, X, y, Workspace(limit - 1)).curvature(theta)
    Likelihood(kernel, X, y, Workspace(limit)).curvature(theta)
