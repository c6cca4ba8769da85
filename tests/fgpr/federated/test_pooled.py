import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.federated.pooled import optimise, pooled_loss
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace

BOUNDS = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.01], [100.0, 10.0, 100.0])
RBF = kernel_named("rbf")
START = np.log([1.0, 0.5, 2.0])


def clients() -> list[Likelihood]:
    rng = np.random.default_rng(5)
    workspace = Workspace()
    likelihoods = []
    for rows in (20, 35, 11):
        x = np.sort(rng.uniform(0, 10, rows))
        y = np.sin(x + rng.uniform(0, 6)) + 0.2 * rng.normal(size=rows)
        likelihoods.append(Likelihood(RBF, x, y, workspace))
    return likelihoods


def test_the_loss_is_summed_and_then_divided_by_all_points() -> None:
    likelihoods = clients()
    total = sum(likelihood.value(START).nats for likelihood in likelihoods)
    assert pooled_loss(likelihoods, START) == pytest.approx(total / 66, rel=1e-14)


def test_at_the_optimum_the_gradient_vanishes() -> None:
    likelihoods = clients()
    best = optimise(likelihoods, BOUNDS, [START])
    gradient = sum(likelihood.value_and_gradient(best.theta).gradient for likelihood in likelihoods)
    assert best.converged
    assert np.abs(gradient / 66).max() < 1e-4
    assert best.loss == pytest.approx(pooled_loss(likelihoods, best.theta), rel=1e-12)
    assert np.exp(best.theta[1]) == pytest.approx(0.2, abs=0.06)


def test_a_descent_may_be_cut_short() -> None:
    short, best = (optimise(clients(), BOUNDS, [START], iterations=count) for count in (2, 100))
    assert not short.converged
    assert short.evaluations < best.evaluations
    assert short.loss > best.loss + 1e-3


def test_noise_alone_has_its_closed_form() -> None:
    # With distances far beyond the length-scale every row is N(0, s2 + n): the best variance is the mean square.
    y = np.array([1.0, -2.0, 0.5, 3.0])
    far = Bounds.from_natural(theta_names(1), [0.01, 0.01, 0.5], [100.0, 10.0, 2.0])
    best = optimise([Likelihood(RBF, 1e3 * np.arange(4.0), y)], far, [np.log([1.0, 0.5, 1.0])])
    assert np.exp(2 * best.theta[:2]).sum() == pytest.approx((y**2).mean(), rel=1e-5)


def test_the_best_of_several_starts_is_kept() -> None:
    likelihoods = clients()
    flat = np.log([0.02, 0.8, 90.0])
    alone = optimise(likelihoods, BOUNDS, [flat])
    both = optimise(likelihoods, BOUNDS, [flat, START])
    good = optimise(likelihoods, BOUNDS, [START])
    assert both.loss == min(alone.loss, good.loss)
    assert both.evaluations == alone.evaluations + good.evaluations


def test_the_optimum_stays_inside_the_bounds() -> None:
    tight = Bounds.from_natural(theta_names(1), [0.5, 0.4, 1.0], [2.0, 1.0, 3.0])
    best = optimise(clients(), tight, [START])
    tight.check(best.theta)
    assert best.theta[1] == tight.lower[1]


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="no clients"):
        optimise([], BOUNDS, [START])
    with pytest.raises(DataError, match="no theta to start from"):
        optimise(clients(), BOUNDS, [])
    with pytest.raises(EncodingError, match="signal sd"):
        optimise(clients(), BOUNDS, [np.log([1e3, 0.5, 2.0])])
    huge = Likelihood(RBF, [0.0, 1.0], [1e200, -1e200])
    with pytest.raises(NumericalError, match="none of 1 starts"):
        optimise([huge], BOUNDS, [START])
