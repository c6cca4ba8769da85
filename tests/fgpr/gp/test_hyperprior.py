import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from fgpr.errors import EncodingError
from fgpr.federated.pooled import optimise
from fgpr.gp.hyperparameters import Bounds, theta_names
from fgpr.gp.hyperprior import LogNormal, LogPrior
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.posterior import condition

NAMES = theta_names(["x"])


def test_the_density_is_normal_over_the_logarithm() -> None:
    prior = LogPrior([LogNormal("length-scale of x", 3.0, 0.7), LogNormal("noise sd", 0.1, 2.0)], NAMES)
    theta = np.array([0.3, -1.0, 0.4])
    expected = norm(np.log(3.0), 0.7).logpdf(0.4) + norm(np.log(0.1), 2.0).logpdf(-1.0)
    assert prior.log_density(theta) == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(prior.gradient(theta), approx_fprime(theta, prior.log_density), rtol=0, atol=1e-6)
    np.testing.assert_allclose(prior.information, [0.0, 0.25, 1 / 0.49])
    assert not prior.flat


def test_no_priors_are_flat() -> None:
    prior = LogPrior((), NAMES)
    assert prior.flat
    assert prior.log_density(np.array([1.0, 2.0, 3.0])) == 0.0
    assert prior.gradient(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def best_lengthscale(scale: float, priors: list[LogNormal]) -> tuple[float, float, float]:
    """(length-scale, log marginal likelihood, log prior), signal and noise kept at the case's values."""
    x = scale * np.array([0.0, 3.0, 6.0])
    signal, noise = np.log([2.0, 0.1])
    bounds = Bounds(NAMES, (signal - 1e-13, noise - 1e-13, -10.0), (signal + 1e-13, noise + 1e-13, 10.0))
    start = [signal, noise, np.log(scale)]
    found = optimise([Likelihood(kernel_named("rbf"), x, [2.0, -2.0, 2.0])], bounds, [start], priors)
    return float(np.exp(found.theta[2])), -3 * found.loss, found.log_prior


def test_case_f10_the_density_is_over_the_logarithm_and_both_parts_are_reported() -> None:
    lengthscale, likelihood, log_prior = best_lengthscale(1.0, [LogNormal("length-scale of x", 1.0, 1.0)])
    assert lengthscale == pytest.approx(0.9095435, abs=2e-6)
    assert likelihood == pytest.approx(-6.3449388, abs=5e-7)
    assert log_prior == pytest.approx(norm.logpdf(np.log(lengthscale)), abs=1e-9)


def test_case_f10_other_units_are_the_same_model_when_the_prior_has_them_too() -> None:
    lengthscale, likelihood, _ = best_lengthscale(100.0, [LogNormal("length-scale of x", 100.0, 1.0)])
    assert lengthscale == pytest.approx(90.95435, abs=2e-4)
    assert likelihood == pytest.approx(-6.3449388, abs=5e-7)
    left, _, _ = best_lengthscale(100.0, [LogNormal("length-scale of x", 1.0, 1.0)])
    assert left == pytest.approx(1.0, abs=1e-4), "a prior in the wrong unit is another model"
    kernel, y = kernel_named("rbf"), [2.0, -2.0, 2.0]
    one = condition(kernel, np.log([2.0, 0.1, 0.9095435]), [0.0, 3.0, 6.0], y).predict([1.0])
    other = condition(kernel, np.log([2.0, 0.1, 90.95435]), [0.0, 300.0, 600.0], y).predict([100.0])
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(one.latent_variance, other.latent_variance, rtol=1e-12)


def test_case_f10_a_flat_prior_gives_the_maximum_likelihood() -> None:
    """These targets alternate: without a prior the shortest length-scale is as good as any short one."""
    without, likelihood, log_prior = best_lengthscale(1.0, [])
    wide, same, _ = best_lengthscale(1.0, [LogNormal("length-scale of x", 1.0, 1000.0)])
    assert log_prior == 0.0
    assert likelihood == pytest.approx(same, abs=1e-5)
    assert max(without, wide) < 0.9095435


@pytest.mark.parametrize(
    ("median", "sigma", "says"),
    [
        (0.0, 1.0, "median"),
        (-1.0, 1.0, "median"),
        (np.inf, 1.0, "median"),
        (np.nan, 1.0, "median"),
        (1.0, 0.0, "sigma"),
    ],
)
def test_a_prior_that_is_no_density_is_refused(median: float, sigma: float, says: str) -> None:
    with pytest.raises(EncodingError, match=f"prior of x: its {says}"):
        LogNormal("x", median, sigma)
    with pytest.raises(EncodingError, match="sigma is nan"):
        LogNormal("x", 1.0, np.nan)


def test_priors_name_entries_of_theta_once() -> None:
    with pytest.raises(EncodingError, match="prior of period: there is no such hyper-parameter"):
        LogPrior([LogNormal("period", 1.0, 1.0)], NAMES)
    with pytest.raises(EncodingError, match="has two"):
        LogPrior([LogNormal("noise sd", 1.0, 1.0), LogNormal("noise sd", 2.0, 1.0)], NAMES)
