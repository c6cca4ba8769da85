"""Every kernel, alone and in sums and products, against closed forms, scikit-learn and differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sklearn_kernels

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.kernel import Kernel, Placed, kernel_named
from fgpr.gp.kernels.panels import WORTH_IT, mirror
from support.kernels import EVERY, SINGLE, STATIONARY, axes, kernel, problem


def placed(ours: Kernel, X: Array, theta: Array, centre: Array | None = None) -> Placed:
    there = ours.place(X, X.mean(axis=0) if centre is None else centre)
    there.rescale(theta)
    return there


def covariance(ours: Kernel, X: Array, theta: Array) -> Array:
    """K_f of the inputs with themselves."""
    there = placed(ours, X, theta)
    matrix = np.full((len(X), len(X)), np.nan, order="F")
    there.fill(matrix, None)
    mirror(matrix)
    return there.signal_variance * matrix


@pytest.mark.parametrize("text", EVERY)
def test_a_kernel_is_named_by_its_text(text: str) -> None:
    assert kernel(text, 2).name == text


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(EncodingError, match="no kernel is named 'RBF'; known are rbf, matern-1/2"):
        kernel_named("RBF")
    with pytest.raises(EncodingError, match=r"rbf\(cycle\) names features: it needs the features of the model"):
        kernel_named("rbf(cycle)")
    with pytest.raises(EncodingError, match="no feature 'cycle'; there are x1, x2"):
        kernel("rbf(cycle)", 2)


@pytest.mark.parametrize(
    ("name", "at_one"),
    [
        ("rbf", np.exp(-0.5)),
        ("matern-1/2", np.exp(-1.0)),
        ("matern-3/2", (1 + np.sqrt(3)) * np.exp(-np.sqrt(3))),
        ("matern-5/2", (1 + np.sqrt(5) + 5 / 3) * np.exp(-np.sqrt(5))),
        ("rational-quadratic", 1.5**-1.0),
        ("constant", 1.0),
    ],
)
def test_closed_form_at_distance_one(name: str, at_one: float) -> None:
    ours = kernel_named(name)
    theta = np.zeros(ours.size(1))
    matrix = covariance(ours, np.array([[5.0], [6.0]]), theta)
    np.testing.assert_allclose(matrix, [[1.0, at_one], [at_one, 1.0]], rtol=1e-14)


def test_closed_form_of_the_periodic_kernel() -> None:
    matrix = covariance(kernel_named("periodic"), np.array([[0.0], [5.0], [20.0]]), np.log([2.0, 1.0, 1.5, 20.0]))
    quarter = np.exp(-2 * np.sin(np.pi / 4) ** 2 / 1.5**2)
    np.testing.assert_allclose(matrix[0], 4.0 * np.array([1.0, quarter, 1.0]), rtol=1e-13)


def test_closed_form_of_a_linear_mean() -> None:
    """The prior of a + b z with independent a and b, z from -1/2 to 1/2 over the range."""
    X = np.array([[100.0], [100.5], [101.0]])
    matrix = covariance(kernel("2 * linear + 3 * constant", 1), X, np.log([2.0, 1.0, 3.0]))
    z = X[:, 0] - 100.5
    np.testing.assert_allclose(matrix, 4.0 * np.outer(z, z) + 9.0, rtol=1e-14)


def oracle(text: str, theta: Array, features: int) -> sklearn_kernels.Kernel:
    values = np.exp(theta[2:])
    lengthscales = values[:features]
    signal = sklearn_kernels.ConstantKernel(np.exp(2 * theta[0]))
    shape = {
        "rbf": lambda: sklearn_kernels.RBF(lengthscales),
        "matern-1/2": lambda: sklearn_kernels.Matern(lengthscales, nu=0.5),
        "matern-3/2": lambda: sklearn_kernels.Matern(lengthscales, nu=1.5),
        "matern-5/2": lambda: sklearn_kernels.Matern(lengthscales, nu=2.5),
        "matern(nu=0.3)": lambda: sklearn_kernels.Matern(lengthscales, nu=0.3),
        "matern(nu=1)": lambda: sklearn_kernels.Matern(lengthscales, nu=1.0),
        "matern(nu=2.2)": lambda: sklearn_kernels.Matern(lengthscales, nu=2.2),
    }
    return signal * shape[text]()


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize("text", SINGLE[:7])
def test_the_ard_kernels_against_scikit_learn(text: str, features: int) -> None:
    ours, X, _, theta = problem(text, features)
    other = X[:7] + 0.3
    centre = X.mean(axis=0)
    there = oracle(text, theta, features)
    np.testing.assert_allclose(covariance(ours, X, theta), there(X), rtol=0, atol=2e-12)
    left, right = placed(ours, X, theta, centre), placed(ours, other, theta, centre)
    np.testing.assert_allclose(left.signal_variance * left.cross(right), there(X, other), rtol=0, atol=2e-12)


def test_periodic_and_rational_quadratic_against_scikit_learn() -> None:
    X = np.random.default_rng(0).uniform(0, 10, (30, 1))
    periodic = sklearn_kernels.ExpSineSquared(0.8, 3.0)
    np.testing.assert_allclose(
        covariance(kernel_named("periodic"), X, np.log([1.0, 1.0, 0.8, 3.0])), periodic(X), rtol=0, atol=1e-12
    )
    quadratic = sklearn_kernels.RationalQuadratic(0.8, 3.0)
    np.testing.assert_allclose(
        covariance(kernel_named("rational-quadratic"), X, np.log([1.0, 1.0, 0.8, 3.0])),
        quadratic(X),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("features", [1, 3])
@pytest.mark.parametrize(("nu", "closed"), [("0.5", "matern-1/2"), ("1.5", "matern-3/2"), ("2.5", "matern-5/2")])
def test_the_general_matern_equals_its_closed_forms(nu: str, closed: str, features: int) -> None:
    ours, X, _, theta = problem(f"matern(nu={nu})", features)
    theirs = kernel(closed, features)
    np.testing.assert_allclose(covariance(ours, X, theta), covariance(theirs, X, theta), rtol=0, atol=1e-12)
    for (place, left), (same, right) in zip(
        placed(ours, X, theta).derivatives(), placed(theirs, X, theta).derivatives(), strict=True
    ):
        assert place == same
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-11)


@pytest.mark.parametrize("nu", ["0.1", "0.5", "1", "3.7", "20"])
def test_the_general_matern_is_finite_at_every_distance(nu: str) -> None:
    X = np.r_[0.0, np.logspace(-150, 8, 200)][:, None]
    ours = kernel_named(f"matern(nu={nu})")
    there = ours.place(X, np.zeros(1))
    there.rescale(np.zeros(3))
    matrix, weight = (np.full((201, 201), np.nan, order="F") for _ in range(2))
    there.fill(matrix, weight)
    assert np.isfinite(weight).all()
    assert matrix.min() >= 0.0
    assert matrix.max() <= 1.0
    assert (np.diff(matrix[0]) <= 1e-14).all(), "it falls with the distance"


def test_a_sum_and_a_product_are_those_of_their_parts() -> None:
    X = problem("rbf", 2)[1]
    rbf = covariance(kernel("rbf(x1)", 2), X, np.log([1.5, 1.0, 0.4]))
    matern = covariance(kernel("matern-3/2", 2), X, np.log([0.7, 1.0, 0.3, 2.0]))
    ours = covariance(kernel("rbf(x1) + matern-3/2", 2), X, np.log([1.5, 1.0, 0.4, 0.7, 0.3, 2.0]))
    np.testing.assert_allclose(ours, rbf + matern, rtol=0, atol=1e-14)
    ours = covariance(kernel("rbf(x1) * matern-3/2", 2), X, np.log([1.5 * 0.7, 1.0, 0.4, 0.3, 2.0]))
    np.testing.assert_allclose(ours, rbf * matern, rtol=0, atol=1e-14)


def test_length_scales_come_in_the_order_that_the_text_names_features() -> None:
    X = problem("rbf", 3)[1]
    ours = covariance(kernel("rbf(x3, x1)", 3), X, np.log([1.0, 1.0, 0.5, 2.0]))
    expected = covariance(kernel_named("rbf"), X[:, [2, 0]], np.log([1.0, 1.0, 0.5, 2.0]))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize("text", EVERY)
def test_derivatives_are_those_of_the_covariance(text: str, features: int) -> None:
    ours, X, _, theta = problem(text, features, rows=12)
    scale = placed(ours, X, theta).signal_variance
    seen = {1}
    for place, derivative in placed(ours, X, theta).derivatives():
        seen.add(place)
        # Richardson's combination of two central differences: its error is of the fourth order in the step.
        near, far = (
            covariance(ours, X, theta + step) - covariance(ours, X, theta - step)
            for step in (1e-4 * np.eye(theta.size)[place], 2e-4 * np.eye(theta.size)[place])
        )
        difference = (8 * near - far) / 1.2e-3
        np.testing.assert_allclose(scale * derivative, difference, rtol=1e-6, atol=1e-8 * scale)
    assert seen == set(range(theta.size))


@pytest.mark.parametrize("rows", [25, WORTH_IT + 5])
@pytest.mark.parametrize("text", EVERY)
def test_the_diagonal_and_the_cross_are_those_of_the_matrix(text: str, rows: int) -> None:
    ours, X, _, theta = problem(text, 3, rows)
    there = placed(ours, X, theta)
    matrix = covariance(ours, X, theta) / there.signal_variance
    np.testing.assert_allclose(np.diag(matrix), np.broadcast_to(there.diagonal, len(X)), rtol=1e-15)
    np.testing.assert_allclose(there.cross(there), matrix, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12


@pytest.mark.parametrize("text", STATIONARY)
def test_stationary_correlations_never_pass_one(text: str) -> None:
    X = 100.0 + np.repeat(np.random.default_rng(0).uniform(0, 1e4, size=(40, 2)), 2, axis=0)
    ours = kernel(text, 2)
    there = placed(ours, X, np.zeros(ours.size(2)))
    matrix, weight = (np.full((80, 80), np.nan, order="F") for _ in range(2))
    there.fill(matrix, weight)
    assert matrix.min() >= 0.0
    assert matrix.max() <= 1.0 + 1e-15


def test_the_wire_order_of_one_kernel_is_signal_noise_lengthscales() -> None:
    expected = ("signal sd", "noise sd", "length-scale of 1", "length-scale of 2")
    assert kernel_named("rbf").names(2) == kernel_named("matern-3/2").names(2) == expected
    assert kernel_named("rbf").size(2) == 4
    assert kernel_named("rbf").features(4) == 2
    with pytest.raises(EncodingError, match="no number of features"):
        kernel_named("periodic").features(5)
    with pytest.raises(EncodingError, match="the inputs have 3 features, the kernel is for 2"):
        kernel("rbf", 2).size(3)


def test_the_wire_order_of_a_sum() -> None:
    assert kernel("rbf(x2) * periodic(x1) + rational-quadratic + 2 * rbf(x1)", 2).names(2) == (
        "signal sd of rbf 1 * periodic",
        "noise sd",
        "length-scale of x2 in rbf 1",
        "length-scale of x1 in periodic",
        "period of x1 in periodic",
        "signal sd of rational-quadratic",
        "length-scale of x1 in rational-quadratic",
        "length-scale of x2 in rational-quadratic",
        "alpha in rational-quadratic",
        "signal sd of rbf 2",
        "length-scale of x1 in rbf 2",
    )
    assert axes(2)[0].range == 1.0
