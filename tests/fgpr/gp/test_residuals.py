import numpy as np
import pytest
from scipy.stats import norm

from fgpr.errors import DataError
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.posterior import condition
from fgpr.gp.residuals import leave_one_out
from support.kernels import FASTEST

THETA = np.log([1.5, 0.3, 0.4, 0.8])


@pytest.mark.parametrize("noise", [None, 0.5, "a row"])
@pytest.mark.parametrize("name", FASTEST)
def test_each_row_is_predicted_as_if_it_had_not_been_there(name: str, noise: float | str | None) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(25, 2))
    y = np.sin(4 * X[:, 0]) + 0.3 * rng.normal(size=25)
    variances = rng.uniform(0.05, 0.5, 25) if noise == "a row" else np.full(25, 0.09 if noise is None else noise)
    kernel = kernel_named(name)
    ours = leave_one_out(condition(kernel, THETA, X, y, noise=variances if noise else None))
    for row in range(25):
        kept = np.arange(25) != row
        without = condition(kernel, THETA, X[kept], y[kept], noise=variances[kept])
        there = without.predict(X[row : row + 1], noise=variances[row])
        assert ours.mean[row] == pytest.approx(there.mean[0], abs=1e-11)
        assert ours.observation_variance[row] == pytest.approx(there.observation_variance[0], rel=1e-11)
    sd = np.sqrt(ours.observation_variance)
    np.testing.assert_allclose(ours.log_density, norm.logpdf(y, ours.mean, sd), rtol=1e-12)
    np.testing.assert_allclose(ours.standardised * sd, y - ours.mean, rtol=1e-12)


def test_after_appending_the_residuals_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.uniform(size=(30, 2)), rng.normal(size=30)
    kernel = kernel_named("rbf")
    grown = condition(kernel, THETA, X[:20], y[:20]).append(X[20:], y[20:])
    np.testing.assert_allclose(
        leave_one_out(grown).residuals, leave_one_out(condition(kernel, THETA, X, y)).residuals, rtol=0, atol=1e-11
    )


def test_a_single_row_is_left_out_to_the_prior() -> None:
    ours = leave_one_out(condition(kernel_named("rbf"), np.log([2.0, 0.5, 1.0]), [5.0], [3.0]))
    assert (ours.mean[0], ours.observation_variance[0]) == pytest.approx((0.0, 4.25))


def test_a_wrong_measurement_stands_out() -> None:
    x = np.linspace(0.0, 3.0, 31)
    y = np.sin(x)
    y[17] += 1.0
    ours = leave_one_out(condition(kernel_named("rbf"), np.log([1.0, 0.05, 1.0]), x, y))
    assert np.argmax(np.abs(ours.standardised)) == 17
    assert ours.standardised[17] > 10


def test_nothing_to_leave_out_and_too_many_rows_are_refused() -> None:
    with pytest.raises(DataError, match="nothing to leave out"):
        leave_one_out(condition(kernel_named("rbf"), np.zeros(3), [], []))
    tight = condition(kernel_named("rbf"), np.zeros(3), np.arange(10.0), np.arange(10.0), memory_limit=800)
    with pytest.raises(DataError, match=r"10 rows need 0\.00 GB for 2 matrices"):
        leave_one_out(tight)
