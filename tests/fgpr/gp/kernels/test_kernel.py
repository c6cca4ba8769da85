"""Every kernel against closed forms, scikit-learn and differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sklearn_kernels

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.kernel import KERNEL_NAMES, kernel_named
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


def filled(name: str, X: Array, lengthscales: Array) -> tuple[Array, Array]:
    scaled = ScaledInputs(X)
    scaled.rescale(lengthscales)
    correlation, weight = (np.full((len(X), len(X)), np.nan, order="F") for _ in range(2))
    kernel_named(name).fill(scaled, correlation, weight)
    return correlation, weight


def test_names() -> None:
    assert KERNEL_NAMES == ("rbf", "matern-3/2")
    assert [kernel_named(name).name for name in KERNEL_NAMES] == list(KERNEL_NAMES)
    with pytest.raises(EncodingError, match=r"'RBF'; known are rbf, matern-3/2"):
        kernel_named("RBF")


@pytest.mark.parametrize(
    ("name", "at_one"), [("rbf", np.exp(-0.5)), ("matern-3/2", (1 + np.sqrt(3)) * np.exp(-np.sqrt(3)))]
)
def test_closed_form_at_distance_one(name: str, at_one: float) -> None:
    correlation, _ = filled(name, np.array([[5.0], [7.0]]), np.array([2.0]))
    np.testing.assert_allclose(correlation, [[1.0, at_one], [at_one, 1.0]], rtol=1e-14)


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_against_scikit_learn(name: str, features: int) -> None:
    rng = np.random.default_rng(features)
    X, other = rng.normal(size=(30, features)), rng.normal(size=(17, features))
    lengthscales = rng.uniform(0.5, 3.0, features) * np.sqrt(features)
    oracle = sklearn_kernels.RBF(lengthscales) if name == "rbf" else sklearn_kernels.Matern(lengthscales, nu=1.5)
    correlation, weight = filled(name, X, lengthscales)
    expected, gradient = oracle(X, eval_gradient=True)
    np.testing.assert_allclose(correlation, expected, rtol=0, atol=1e-12)

    differences = ((X[:, None, :] - X[None, :, :]) / lengthscales) ** 2
    np.testing.assert_allclose(weight[:, :, None] * differences, gradient, rtol=0, atol=1e-12)

    centre = X.mean(axis=0)
    here, there = ScaledInputs(X, centre), ScaledInputs(other, centre)
    here.rescale(lengthscales)
    there.rescale(lengthscales)
    np.testing.assert_allclose(kernel_named(name).cross(here, there), oracle(X, other), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_correlations_never_pass_one(name: str) -> None:
    X = np.repeat(np.random.default_rng(0).uniform(0, 1e4, size=(40, 2)), 2, axis=0)
    correlation, weight = filled(name, X, np.array([1.0, 3.0]))
    assert np.isfinite(weight).all()
    assert correlation.min() >= 0.0
    assert correlation.max() <= 1.0
