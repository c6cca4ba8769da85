import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import condition_by_neighbours
from fgpr.gp.hyperparameters import Bounds, Hyperparameters, theta_names
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.posterior import condition
from fgpr.gp.stacked import StackedLikelihood
from support.kernels import EVERY, FASTEST
from support.kernels import problem as kernel_problem

RBF = kernel_named("rbf")


def problem(features: int, rows: int = 40) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(features)
    scale = np.arange(1.0, features + 1)
    X = rng.uniform(size=(rows, features)) * scale + 100.0
    y = np.sin(X.sum(axis=1)) + 0.3 * rng.normal(size=rows)
    lengthscales = 0.6 * np.sqrt(features) * scale * rng.uniform(0.7, 1.4, size=features)
    return X, y, np.log(np.r_[1.4, 0.35, lengthscales])


def scikit_learn(name: str, X: Array, y: Array, theta: Array) -> tuple[float, Array]:
    """Negative log marginal likelihood and gradient, in our order and scale (sd, not variance)."""
    signal, noise, *lengthscales = np.exp(theta)
    shape = kernels.RBF(lengthscales) if name == "rbf" else kernels.Matern(lengthscales, nu=1.5)
    model = kernels.ConstantKernel(signal**2) * shape + kernels.WhiteKernel(noise**2)
    regressor = GaussianProcessRegressor(model, alpha=0.0, optimizer=None).fit(X, y)
    value, gradient = regressor.log_marginal_likelihood(model.theta, eval_gradient=True)
    ordered = np.r_[2 * gradient[0], 2 * gradient[-1], gradient[1:-1]]
    return -value, -ordered


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize("name", FASTEST)
def test_against_scikit_learn(name: str, features: int) -> None:
    X, y, theta = problem(features)
    value, gradient = scikit_learn(name, X, y, theta)
    ours = Likelihood(kernel_named(name), X, y).value_and_gradient(theta)
    assert ours.nats == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(ours.gradient, gradient, rtol=1e-9, atol=1e-9)
    assert ours.jitter == 0.0


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize(
    ("text", "noise"), [(text, 0.35) for text in EVERY] + [(text, 0.01) for text in ("rbf", "matern-1/2", "matern-3/2")]
)
def test_the_gradient_is_that_of_the_value(text: str, noise: float, features: int) -> None:
    kernel, X, y, theta = kernel_problem(text, features)
    theta[1] = np.log(noise)
    likelihood = Likelihood(kernel, X, y)
    # Many short periods in many inputs want a small step, a small noise a large one.
    step = 1e-4 if noise > 0.1 else 5e-4

    def central(unit: Array, width: float) -> float:
        return (likelihood.value(theta + width * unit).nats - likelihood.value(theta - width * unit).nats) / (2 * width)

    # Richardson's combination of two central differences: its error is of the fourth order in the step.
    differences = [(4 * central(unit, step) - central(unit, 2 * step)) / 3 for unit in np.eye(theta.size)]
    ours = likelihood.value_and_gradient(theta)
    np.testing.assert_allclose(ours.gradient, differences, rtol=1e-6, atol=1e-8 * np.abs(ours.gradient).max())
    assert ours.nats == likelihood.value(theta).nats


@pytest.mark.parametrize("text", EVERY)
def test_the_value_is_the_normal_density(text: str) -> None:
    kernel, X, y, theta = kernel_problem(text, 3)
    there = kernel.place(X)
    there.rescale(theta)
    matrix = np.empty((len(X), len(X)), order="F")
    there.fill(matrix, None)
    density = multivariate_normal(
        np.zeros(len(X)), there.signal_variance * matrix + np.exp(2 * theta[1]) * np.eye(len(X))
    )
    assert Likelihood(kernel, X, y).value(theta).nats == pytest.approx(-density.logpdf(y), rel=1e-10)


def test_one_row_by_hand() -> None:
    # y ~ N(0, s2 + n): L = y^2 / 2v + log(2 pi v) / 2 with v = 4 + 0.25.
    likelihood = Likelihood(RBF, [[5.0]], [3.0])
    ours = likelihood.value_and_gradient(Hyperparameters(2.0, 0.5, (1.0,)).theta)
    v = 4.25
    assert ours.nats == pytest.approx(9 / (2 * v) + 0.5 * np.log(2 * np.pi * v), rel=1e-14)
    np.testing.assert_allclose(ours.gradient, [4 / v * (1 - 9 / v), 0.25 / v * (1 - 9 / v), 0.0], rtol=1e-13)


@pytest.mark.parametrize(("lengthscale", "value"), [(1.0, 10.5357843), (2.0, 18.1283800)])
def test_case_f2_log_marginal_likelihoods(lengthscale: float, value: float) -> None:
    x = np.linspace(0, 10, 30)
    likelihood = Likelihood(RBF, x, np.sin(x))
    assert likelihood.value(Hyperparameters(1.0, 0.1, (lengthscale,)).theta).nats == pytest.approx(-value, abs=5e-8)


@pytest.mark.parametrize("name", FASTEST)
def test_a_mini_batch_is_the_likelihood_of_its_rows(name: str) -> None:
    X, y, theta = problem(3)
    kernel = kernel_named(name)
    likelihood = Likelihood(kernel, X, y)
    rows = np.array([30, 2, 17, 4, 9])
    whole = likelihood.value_and_gradient(theta)
    likelihood.restrict(rows)
    batch = likelihood.value_and_gradient(theta)
    alone = Likelihood(kernel, X[rows], y[rows]).value_and_gradient(theta)
    assert (likelihood.rows, likelihood.features) == (5, 3)
    assert batch.nats == pytest.approx(alone.nats, rel=1e-13)
    np.testing.assert_allclose(batch.gradient, alone.gradient, rtol=1e-10, atol=1e-12)
    likelihood.restrict(None)
    again = likelihood.value_and_gradient(theta)
    assert again.nats == whole.nats
    assert again.gradient.tolist() == whole.gradient.tolist()


def test_likelihoods_of_different_sizes_share_a_workspace() -> None:
    X, y, theta = problem(3)
    workspace = Workspace()
    shared = [Likelihood(RBF, X[:n], y[:n], workspace) for n in (12, 40, 7, 12)]
    alone = [Likelihood(RBF, X[:n], y[:n]) for n in (12, 40, 7, 12)]
    for _ in range(2):
        for left, right in zip(shared, alone, strict=True):
            ours, theirs = left.value_and_gradient(theta), right.value_and_gradient(theta)
            assert ours.nats == theirs.nats
            assert ours.gradient.tolist() == theirs.gradient.tolist()


def test_a_workspace_refuses_what_passes_its_limit() -> None:
    X, y, theta = problem(1)
    with pytest.raises(DataError, match="40 rows need"):
        Likelihood(RBF, X, y, Workspace(limit=25_599)).value(theta)
    Likelihood(RBF, X, y, Workspace(limit=25_600)).value(theta)


def test_jitter_is_reported_and_its_gradient_still_exact() -> None:
    X = np.repeat(np.linspace(0, 1, 4), 2)
    y = np.repeat([0.4, 1.0, -0.3, 0.8], 2)
    theta = np.array([0.2, -30.0, -0.5])
    likelihood = Likelihood(RBF, X, y)
    ours = likelihood.value_and_gradient(theta)
    assert ours.jitter == 1e-12
    assert likelihood.value(theta).jitter == 1e-12
    # The jitter is a multiple of the signal variance: the scaled matrix does not depend on the signal, so that
    # dL / d log signal sd = n - y' K^-1 y; the noise is too small to count.
    fit = 2 * (likelihood.value(theta).nats - 8 * theta[0] - 4 * np.log(2 * np.pi))
    determinant = np.linalg.slogdet(np.exp(-0.5 * ((X[:, None] - X) / np.exp(-0.5)) ** 2) + 1e-12 * np.eye(8))[1]
    assert ours.gradient[0] == pytest.approx(8 - (fit - determinant), rel=1e-3)


def test_case_a1_equal_inputs_without_noise_are_named_where_no_jitter_is_allowed() -> None:
    likelihood = Likelihood(RBF, [1.0, 1.0, 3.0], [10.0, 12.0, 5.0], jitter_limit=0.0)
    with pytest.raises(NumericalError, match="equal inputs in rows 1, 2; give a noise above 0"):
        likelihood.value(np.log([2.0, 1e-20, 1.5]))


@pytest.mark.parametrize(
    ("X", "y", "theta"),
    [
        ([0.0, 1.0], [1e200, -1e200], [0.0, 0.0, 0.0]),
        ([0.0, 1e300], [1.0, 2.0], [0.0, 0.0, -5.0]),
        ([0.0, 1.0], [1.0, 2.0], [151.0, 0.0, 0.0]),
        ([0.0, 1.0], [1.0, 2.0], [0.0, np.nan, 0.0]),
    ],
)
def test_overflow_is_an_error_and_never_nan(X: list[float], y: list[float], theta: list[float]) -> None:
    likelihood = Likelihood(RBF, X, y)
    with pytest.raises(NumericalError):
        likelihood.value(theta)
    with pytest.raises(NumericalError):
        likelihood.value_and_gradient(theta)


@pytest.mark.parametrize("corner", [[150.0, -150.0, 0.0], [-150.0, 150.0, 0.0], [0.0, 0.0, 150.0], [0.0, 0.0, -10.0]])
def test_the_corners_of_log_space_are_finite(corner: list[float]) -> None:
    ours = Likelihood(RBF, [0.0, 1.0, 2.0], [1.0, 2.0, 0.5]).value_and_gradient(corner)
    assert np.isfinite(ours.nats)
    assert np.isfinite(ours.gradient).all()


def test_length_scales_too_short_for_double_precision_are_refused() -> None:
    with pytest.raises(NumericalError, match="span too many length-scales"):
        Likelihood(RBF, [0.0, 1.0, 2.0], [1.0, 2.0, 0.5]).value([0.0, 0.0, -12.0])


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([0.0, np.nan], [1.0, 2.0]),
        ([0.0, 1.0], [1.0, np.inf]),
        ([0.0, 1.0], [1.0, 2.0, 3.0]),
        (np.zeros((0, 1)), []),
    ],
)
def test_bad_data_is_refused(X: npt.ArrayLike, y: npt.ArrayLike) -> None:
    with pytest.raises(DataError):
        Likelihood(RBF, X, y)


def test_case_f3_a_theta_of_another_length_is_refused() -> None:
    with pytest.raises(EncodingError, match="3 length-scales, the inputs have 2 features"):
        Likelihood(RBF, np.zeros((4, 2)), np.zeros(4)).value(np.zeros(5))


@pytest.mark.parametrize("theta", [["a", "b", "c"], [[0.0], [0.0, 1.0]], [0.0, 1j, 0.0]])
def test_a_theta_that_is_no_numbers_is_refused(theta: npt.ArrayLike) -> None:
    likelihood = Likelihood(RBF, [0.0, 1.0], [1.0, 2.0])
    for work in (likelihood.value, likelihood.value_and_gradient, likelihood.curvature, likelihood.information):
        with pytest.raises(EncodingError, match="entries of theta are not numbers"):
            work(theta)
    for make in (condition, condition_by_neighbours):
        for X in ([0.0, 1.0], []):
            with pytest.raises(EncodingError, match="entries of theta are not numbers"):
                make(RBF, theta, X, X)
    bounds = Bounds.from_natural(theta_names(1), [0.1] * 3, [10.0] * 3)
    for check in (bounds.check, bounds.clip):
        with pytest.raises(EncodingError, match="entries of theta are not numbers"):
            check(theta)
    with pytest.raises(EncodingError, match="entries of theta are not numbers"):
        StackedLikelihood(RBF, np.zeros((2, 3, 1)), np.zeros((2, 3))).value_and_gradient(theta)


def test_an_empty_mini_batch_and_rows_that_there_are_not_are_refused() -> None:
    likelihood = Likelihood(RBF, [0.0, 1.0], [1.0, 2.0])
    before = likelihood.value(np.zeros(3))
    with pytest.raises(DataError, match="no rows: a mini-batch needs at least one"):
        likelihood.restrict(np.array([], dtype=np.intp))
    with pytest.raises(DataError, match="rows that there are not"):
        likelihood.restrict(np.array([0, 2]))
    assert likelihood.value(np.zeros(3)) == before, "a refused batch changes nothing"


@pytest.mark.parametrize("rows", [10, 300])
def test_a_callers_arrays_are_copied(rows: int) -> None:
    rng = np.random.default_rng(0)
    X, y, theta = rng.uniform(size=(rows, 1)), rng.normal(size=rows), np.array([0.0, -1.0, -1.0])
    likelihood = Likelihood(RBF, X, y)
    before = likelihood.value(theta).nats
    stacked = StackedLikelihood(RBF, X[np.newaxis], y[np.newaxis])
    X *= 0.0
    y *= 0.0
    assert likelihood.value(theta).nats == before
    assert likelihood.curvature(theta).nats == pytest.approx(before, rel=1e-12)
    assert stacked.value_and_gradient(theta).nats[0] == pytest.approx(before, rel=1e-10)


@pytest.mark.parametrize("limit", [-1.0, 2.0, np.nan, np.inf])
def test_a_jitter_limit_that_is_none_is_refused(limit: float) -> None:
    with pytest.raises(DataError, match="the jitter limit is"):
        Likelihood(RBF, [0.0, 1.0], [1.0, 2.0], jitter_limit=limit)
    for make in (condition, condition_by_neighbours):
        with pytest.raises(DataError, match="the jitter limit is"):
            make(RBF, np.zeros(3), [0.0, 1.0], [1.0, 2.0], jitter_limit=limit)
