"""The device's own mean and scale, against the formulas in plain matrices and against scikit-learn."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from fgpr.errors import DataError
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.own_scale import condition_own_scale

RBF_KERNEL = kernel_named("rbf")
SIGNAL, NOISE, LENGTH = 1.4, 0.5, 7.0
THETA = np.log([SIGNAL, NOISE, LENGTH])
X = np.array([1.0, 2.0, 4.0, 9.0, 15.0, 16.0])
Y = np.array([641.2, 642.0, 641.7, 643.0, 644.4, 643.9])
NEW = np.array([0.0, 5.0, 30.0])


def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = SIGNAL**2 * np.exp(-0.5 * (a[:, None] - b) ** 2 / LENGTH**2)
    return found


def test_the_formulas_in_plain_matrices() -> None:
    inverse = np.linalg.inv(covariance(X, X) + NOISE**2 * np.eye(6))
    one = np.ones(6)
    mean = one @ inverse @ Y / (one @ inverse @ one)
    scale = np.sqrt((Y - mean) @ inverse @ (Y - mean) / 5)
    k = covariance(NEW, X)
    left = 1.0 - k @ inverse @ one
    latent = SIGNAL**2 - np.einsum("ij,jk,ik->i", k, inverse, k) + left**2 / (one @ inverse @ one)
    ours = condition_own_scale(RBF_KERNEL, THETA, X, Y)
    found = ours.predict(NEW)
    assert (ours.mean, ours.scale) == pytest.approx((mean, scale), rel=1e-9)
    assert found.mean == pytest.approx(mean + k @ inverse @ (Y - mean), rel=1e-12)
    assert found.latent_scale == pytest.approx(scale * np.sqrt(latent), rel=1e-9)
    assert found.observation_scale == pytest.approx(scale * np.sqrt(latent + NOISE**2), rel=1e-9)
    assert (found.degrees, found.quantile(0.975)) == (5, pytest.approx(stats.t.ppf(0.975, 5), rel=1e-10))


def test_a_flat_mean_is_a_constant_kernel_of_great_variance() -> None:
    kernel = ConstantKernel(SIGNAL**2, "fixed") * RBF(LENGTH, "fixed") + ConstantKernel(1e8, "fixed")
    regressor = GaussianProcessRegressor(kernel + WhiteKernel(NOISE**2, "fixed"), alpha=0.0, optimizer=None)
    expected, sd = regressor.fit(X[:, None], Y - 642.0).predict(NEW[:, None], return_std=True)
    ours = condition_own_scale(RBF_KERNEL, THETA, X, Y)
    found = ours.predict(NEW)
    assert found.mean == pytest.approx(642.0 + expected, abs=1e-5)
    assert found.observation_scale / ours.scale == pytest.approx(sd, rel=1e-5)


def test_it_follows_a_change_of_unit() -> None:
    here, there = (condition_own_scale(RBF_KERNEL, THETA, X, y).predict(NEW) for y in (Y, 1.8 * Y - 459.67))
    assert there.mean == pytest.approx(1.8 * here.mean - 459.67, rel=1e-10)
    assert there.observation_scale == pytest.approx(1.8 * here.observation_scale, rel=1e-8)


def test_draws_are_the_t_that_is_said() -> None:
    ours = condition_own_scale(RBF_KERNEL, THETA, X, Y)
    drawn = ours.sample(NEW, 40_000, np.random.default_rng(3))
    found = ours.predict(NEW)
    for place in range(3):
        standard = (drawn[:, place] - found.mean[place]) / found.latent_scale[place]
        assert stats.kstest(standard, stats.t(5).cdf).statistic < 0.012
    # Near each other, draws move together: the correlation of the closed form.
    near = ours.sample([5.0, 5.001], 2_000, np.random.default_rng(4))
    assert np.corrcoef(near.T)[0, 1] > 0.999


@pytest.mark.parametrize(("x", "y"), [([1.0], [2.0]), ([1.0, 2.0], [3.0, 3.0]), ([], [])])
def test_no_scale_can_be_told(x: list[float], y: list[float]) -> None:
    with pytest.raises(DataError, match="a scale needs two that differ"):
        condition_own_scale(RBF_KERNEL, THETA, x, y)
