"""What a posterior does with every kernel, against a dense solution of the textbook's formulas."""

import numpy as np
import pytest
from scipy.stats import norm

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import condition_by_neighbours
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.posterior import condition
from fgpr.gp.residuals import leave_one_out
from fgpr.gp.saved_posterior import SavedPosterior
from support.kernels import EVERY, problem


def blocks(kernel: Kernel, theta: Array, X: Array, new: Array) -> tuple[Array, Array, Array]:
    """K_f of the rows, of the rows with the new inputs, and of the new inputs."""
    everything = np.vstack([X, new])
    there = kernel.place(everything)
    there.rescale(theta)
    matrix = np.empty((len(everything), len(everything)), order="F")
    there.fill(matrix, None)
    matrix *= there.signal_variance
    n = len(X)
    return matrix[:n, :n], matrix[:n, n:], matrix[n:, n:]


@pytest.mark.parametrize("text", EVERY)
def test_predictions_are_those_of_a_dense_solution(text: str) -> None:
    kernel, X, y, theta = problem(text, 2)
    new = X[:5] + np.array([0.31, -0.17])
    own, cross, corner = blocks(kernel, theta, X, new)
    own = own + np.exp(2 * theta[1]) * np.eye(len(X))
    mean = cross.T @ np.linalg.solve(own, y)
    covariance = corner - cross.T @ np.linalg.solve(own, cross)
    scale = np.abs(corner).max()

    posterior = condition(kernel, theta, X, y)
    ours = posterior.predict(new)
    np.testing.assert_allclose(ours.mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.latent_variance, np.diag(covariance), rtol=0, atol=1e-11 * scale)
    joint = posterior.predict_jointly(new)
    np.testing.assert_allclose(joint.latent_covariance, covariance, rtol=0, atol=1e-11 * scale)

    grown = condition(kernel, theta, X[:10], y[:10]).append(X[10:], y[10:]).predict(new)
    np.testing.assert_allclose(grown.mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(grown.latent_variance, np.diag(covariance), rtol=0, atol=1e-11 * scale)

    near = condition_by_neighbours(kernel, theta, X, y, neighbours=len(X)).predict(new)
    np.testing.assert_allclose(near.mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(near.latent_variance, np.diag(covariance), rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("text", EVERY)
def test_without_rows_it_is_the_prior(text: str) -> None:
    kernel, X, _, theta = problem(text, 2)
    prior = condition(kernel, theta, np.empty((0, 2)), []).predict(X)
    assert prior.method == "prior only"
    assert prior.mean.tolist() == [0.0] * len(X)
    np.testing.assert_allclose(prior.latent_variance, np.diag(blocks(kernel, theta, X, X[:0])[0]), rtol=1e-13)


@pytest.mark.parametrize("text", EVERY)
def test_leave_one_out_is_brute_force(text: str) -> None:
    kernel, X, y, theta = problem(text, 2, rows=12)
    ours = leave_one_out(condition(kernel, theta, X, y))
    expected = []
    for row in range(12):
        kept = np.arange(12) != row
        there = condition(kernel, theta, X[kept], y[kept]).predict(X[row : row + 1])
        expected.append(norm(there.mean[0], there.observation_sd[0]).logpdf(y[row]))
    np.testing.assert_allclose(ours.log_density, expected, rtol=1e-9)
    assert ours.score == pytest.approx(np.mean(expected), rel=1e-9)


def test_the_leave_one_out_score_picks_the_kernel_that_made_the_data() -> None:
    rng = np.random.default_rng(8)
    x = np.sort(rng.uniform(0, 10, 80))
    y = np.sign(np.sin(2 * np.pi * x / 2.5)) + 0.2 * rng.normal(size=80)
    scores = {}
    for text, theta in (("rbf", [1.0, 0.3, 0.5]), ("matern-1/2", [1.0, 0.3, 2.0]), ("periodic", [1.0, 0.3, 0.3, 2.5])):
        kernel = problem(text, 1)[0]
        scores[text] = leave_one_out(condition(kernel, np.log(theta), x, y)).score
    assert max(scores, key=lambda text: scores[text]) == "periodic"


@pytest.mark.parametrize("text", EVERY)
def test_a_saved_posterior_comes_back_bit_for_bit(text: str) -> None:
    kernel, X, y, theta = problem(text, 2)
    posterior = condition(kernel, theta, X[:20], y[:20]).append(X[20:], y[20:])
    again = SavedPosterior.load(SavedPosterior.of(posterior).encode()).restore().posterior
    ours, theirs = posterior.predict(X + 0.1), again.predict(X + 0.1)
    assert ours.mean.tolist() == theirs.mean.tolist()
    assert ours.latent_variance.tolist() == theirs.latent_variance.tolist()


@pytest.mark.parametrize("rows", [[], [1.0, 2.0]])
def test_a_variance_that_overflows_is_an_error_and_never_infinite(rows: list[float]) -> None:
    linear = kernel_named("linear")
    for make in (condition, condition_by_neighbours):
        with pytest.raises(NumericalError, match="inputs of a linear kernel overflow: scale the inputs"):
            make(linear, np.zeros(2), rows, rows).predict([1e200])
        with pytest.raises(NumericalError, match="a variance of the function overflows"):
            make(linear, np.array([100.0, 0.0]), rows, rows).predict([1e130, 0.0])
    with pytest.raises(NumericalError, match="a variance of the function overflows"):
        condition(linear, np.array([100.0, 0.0]), rows, rows).predict_jointly([1e130, 0.0])


def test_a_line_far_from_0_is_an_ordinary_problem() -> None:
    """y ~ N(0, x x' + I): log |.| = log(1 + x'x), y'(.)^-1 y = y'y - (x'y)^2 / (1 + x'x) (Sherman, Morrison)."""
    linear, theta, x, y = kernel_named("linear"), np.zeros(2), np.array([1e5, 2e5]), np.array([1.0, 2.5])
    xx, xy = 1.0 + float(x @ x), float(x @ y)
    expected = 0.5 * (y @ y - xy * xy / xx) + 0.5 * np.log(xx) + np.log(2.0 * np.pi)
    assert Likelihood(linear, x, y).value(theta).nats == pytest.approx(expected, rel=1e-5)
    ours = condition(linear, theta, x, y).predict([3e5])
    assert ours.mean[0] == pytest.approx(3e5 * xy / xx, rel=1e-5)
    with pytest.raises(NumericalError, match="too far from 0 for a kernel without"):
        condition(linear, theta, x, y, noise=1e-9)


def test_the_rounding_of_a_product_grows_with_its_factors() -> None:
    kernel = kernel_named("rbf * linear")
    near, far = (kernel.place(np.array([[size], [size + 1.0]])) for size in (0.0, 1e5))
    for placed in (near, far):
        placed.rescale(np.zeros(3))
    # The entries are 1e10, and so is what an RBF's rounding is multiplied by.
    assert far.rounding > 1e9 * near.rounding
    assert far.blur == near.blur
