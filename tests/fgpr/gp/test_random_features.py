"""Random features against the kernels themselves."""

import math

import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.covariance import Covariance
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.model import Feature
from fgpr.gp.random_features import RandomFeatures

AXES = (Feature("p", "1", -2.0, 2.0), Feature("v", "1", -1.0, 3.0), Feature("a", "1", 0.0, 5.0))
X = np.random.default_rng(7).uniform([-2.0, -1.0, 0.0], [2.0, 3.0, 5.0], (40, 3))
SUM = "matern-3/2 + 0.5 * rbf(v) + rbf(p) * linear(v, a) + matern-5/2(a) * rbf(p) + linear + constant"


def _theta(kernel: Kernel) -> np.ndarray:
    return np.random.default_rng(3).normal(0.2, 0.2, kernel.size(3))


def _covariance(kernel: Kernel, theta: np.ndarray) -> np.ndarray:
    covariance = Covariance.at(kernel, theta, 3)
    placed = covariance.scaled(X, np.zeros(3))
    return covariance.signal_variance * np.asarray(placed.cross(placed))


def _error(kernel: Kernel, count: int, seed: int) -> float:
    theta = _theta(kernel)
    phi = RandomFeatures.drawn(kernel, theta, count, seed, 3).at(X)
    exact = _covariance(kernel, theta)
    return float(np.sqrt(np.mean((phi @ phi.T - exact) ** 2)) / exact.diagonal().mean())


@pytest.mark.parametrize(
    "text",
    ["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "matern(nu=0.8)", "rational-quadratic", SUM],
)
def test_inner_products_come_near_the_kernel_as_one_over_the_root_of_their_number(text: str) -> None:
    kernel = kernel_named(text, AXES)
    few, many = (np.mean([_error(kernel, count, seed) for seed in range(6)]) for count in (200, 3200))
    # 16 times the features are a quarter of the error.
    assert many < 2.0 / math.sqrt(3200)
    assert many / few == pytest.approx(0.25, rel=0.4)


@pytest.mark.parametrize("text", ["linear", "constant", "linear(a) + constant", "linear(p) * linear(v, a)"])
def test_kernels_that_are_inner_products_are_exact(text: str) -> None:
    kernel = kernel_named(text, AXES)
    theta = _theta(kernel)
    phi = RandomFeatures.drawn(kernel, theta, 1, 0, 3).at(X)
    assert phi @ phi.T == pytest.approx(_covariance(kernel, theta), rel=1e-12, abs=1e-12)


def test_a_seed_is_all_there_is_to_know() -> None:
    kernel = kernel_named(SUM, AXES)
    theta = _theta(kernel)
    first, again, other = (RandomFeatures.drawn(kernel, theta, 150, seed) for seed in (4, 4, 5))
    assert np.array_equal(first.at(X), again.at(X))
    assert not np.allclose(first.at(X), other.at(X))
    assert first.at(X).shape == (40, first.count)
    assert 120 <= first.count <= 150


def test_draws_of_the_rational_quadratic_know_its_alpha() -> None:
    kernel = kernel_named("rational-quadratic")
    rough, smooth = (np.array([0.0, 0.0, 0.0, 0.0, 0.0, log]) for log in (-1.5, 5.0))
    far = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    alike = [np.prod(RandomFeatures.drawn(kernel, theta, 8000, 0).at(far), axis=0).sum() for theta in (rough, smooth)]
    # (1 + r^2 / (2 alpha))^-alpha at r^2 = 12.
    expected = [(1.0 + 6.0 / math.exp(log)) ** -math.exp(log) for log in (-1.5, 5.0)]
    assert alike == pytest.approx(expected, abs=0.05)


def test_what_cannot_be_done_is_refused() -> None:
    rbf = kernel_named("rbf")
    with pytest.raises(EncodingError, match="no random features"):
        RandomFeatures.drawn(kernel_named("periodic"), np.zeros(4), 10, 0)
    with pytest.raises(DataError, match="0 random features"):
        RandomFeatures.drawn(rbf, np.zeros(3), 0, 0)
    with pytest.raises(DataError, match="seed -1"):
        RandomFeatures.drawn(rbf, np.zeros(3), 10, -1)
    with pytest.raises(NumericalError):
        RandomFeatures.drawn(rbf, [0.0, 0.0, np.nan], 10, 0)
    with pytest.raises(DataError, match="not a finite number"):
        RandomFeatures.drawn(rbf, np.zeros(3), 10, 0).at([[np.inf]])
    with pytest.raises(DataError, match="2 columns"):
        RandomFeatures.drawn(rbf, np.zeros(3), 10, 0).at(np.zeros((3, 2)))
    with pytest.raises(NumericalError, match="overflows"):
        RandomFeatures.drawn(rbf, [0.0, 0.0, -140.0], 10, 0).at([[1e300]])
