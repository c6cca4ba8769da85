"""Theta of one device: near the served one as strongly as is said, or the best of its rows alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from fgpr.errors import DataError
from fgpr.federated.fine_tuning import fine_tune, fit_alone
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

SPEC = ModelSpec.with_default_bounds(
    [Feature("cycle", "cycles", 0.0, 400.0)], Target("s4", "degR", "standardise"), "rbf"
)
SERVED = Prior(SPEC, np.log([1.3, 0.5, 80.0]), 3)
RNG = np.random.default_rng(8)
X = np.sort(RNG.uniform(0.0, 200.0, 25))[:, np.newaxis]
Y = np.sin(X[:, 0] / 15.0) + 0.2 * RNG.standard_normal(25)


def likelihood(theta: np.ndarray) -> float:
    """Negative, in nats, in plain matrices."""
    signal, noise, length = np.exp(theta)
    K = signal**2 * np.exp(-0.5 * (X - X.T) ** 2 / length**2) + noise**2 * np.eye(len(Y))
    return float(0.5 * Y @ np.linalg.solve(K, Y) + 0.5 * np.linalg.slogdet(2 * np.pi * K)[1])


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0])
def test_the_penalised_optimum(sigma: float) -> None:
    def objective(theta: np.ndarray) -> float:
        return likelihood(theta) + float(((theta - SERVED.theta) ** 2).sum()) / (2.0 * sigma**2)

    expected = minimize(objective, SERVED.theta, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
    found = fine_tune(SERVED, X, Y, sigma)
    assert found.theta == pytest.approx(expected.x, abs=2e-3)
    assert objective(found.theta) <= expected.fun + 1e-6


def test_the_strength_goes_from_the_served_theta_to_that_of_the_rows() -> None:
    assert fine_tune(SERVED, X, Y, 1e-3).theta == pytest.approx(SERVED.theta, abs=1e-3)
    away = [float(np.abs(fine_tune(SERVED, X, Y, sigma).theta - SERVED.theta).sum()) for sigma in (0.05, 0.3, 2.0)]
    assert away == sorted(away)


def test_alone_it_is_the_optimum_that_scikit_learn_finds() -> None:
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(50.0, (0.4, 4e4)) + WhiteKernel(0.25, (1e-4, 100.0))
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=5, random_state=1).fit(X, Y)
    ours = fit_alone(SPEC, X, Y)
    assert likelihood(ours.theta) == pytest.approx(-theirs.log_marginal_likelihood_value_, abs=1e-4)


def test_one_row_is_enough_for_a_start() -> None:
    assert np.isfinite(fit_alone(SPEC, [[3.0]], [0.5]).theta).all()


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), 1e4])
def test_a_strength_that_is_none(sigma: float) -> None:
    with pytest.raises(DataError, match=r"expected 0\.001 to 1000"):
        fine_tune(SERVED, X, Y, sigma)


def test_no_rows() -> None:
    with pytest.raises(DataError, match="no rows"):
        fine_tune(SERVED, np.empty((0, 1)), [])
