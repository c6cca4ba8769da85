from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_by_neighbours
from fgpr.gp.hyperparameters import Hyperparameters
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.posterior import condition
from fgpr.gp.scaling import TargetScaling
from support.kernels import FASTEST

RBF = kernel_named("rbf")


def assert_seven(ours: npt.ArrayLike, stated: list[float]) -> None:
    """The cases give seven decimals."""
    np.testing.assert_allclose(np.asarray(ours, dtype=np.float64), stated, rtol=0, atol=5.1e-8)


def theta(signal_variance: float, lengthscale: float, noise: float) -> Array:
    return Hyperparameters(float(np.sqrt(signal_variance)), float(np.sqrt(noise)), (lengthscale,)).theta


@pytest.mark.parametrize("features", [1, 3, 21])
@pytest.mark.parametrize("name", FASTEST)
def test_against_scikit_learn(name: str, features: int) -> None:
    rng = np.random.default_rng(features)
    X, new = rng.uniform(size=(50, features)), rng.uniform(-0.2, 1.2, size=(3000, features))
    y = np.cos(3 * X.sum(axis=1)) + 0.1 * rng.normal(size=50)
    lengthscales = rng.uniform(0.3, 0.9, features) * np.sqrt(features)
    shape = kernels.RBF(lengthscales) if name == "rbf" else kernels.Matern(lengthscales, nu=1.5)
    oracle = GaussianProcessRegressor(kernels.ConstantKernel(2.25) * shape, alpha=0.04, optimizer=None).fit(X, y)
    mean, sd = oracle.predict(new, return_std=True)
    posterior = condition(kernel_named(name), np.log(np.r_[1.5, 0.2, lengthscales]), X, y)
    ours = posterior.predict(new)
    np.testing.assert_allclose(ours.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.latent_variance, sd**2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.observation_sd, np.sqrt(sd**2 + 0.04), rtol=0, atol=1e-9)
    assert (posterior.rows, posterior.jitter, posterior.prior_only) == (50, 0.0, False)


def test_case_a1_equal_inputs_count_as_their_mean_with_less_noise() -> None:
    values = theta(4.0, 1.5, 0.5)
    ours = condition(RBF, values, [1.0, 1.0, 3.0], [10.0, 12.0, 5.0]).predict([1.0, 2.0])
    assert_seven(ours.mean, [10.3715625, 8.6679938])
    assert_seven(ours.latent_variance, [0.2328723, 0.5881769])
    merged = condition(RBF, values, [1.0, 3.0], [11.0, 5.0], noise=[0.25, 0.5]).predict([1.0, 2.0])
    np.testing.assert_allclose(merged.mean, ours.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(merged.latent_variance, ours.latent_variance, rtol=0, atol=1e-9)


def test_case_a1_without_noise_the_jitter_is_reported_or_the_rows_are_named() -> None:
    values = theta(4.0, 1.5, 0.5)
    posterior = condition(RBF, values, [1.0, 1.0, 3.0], [10.0, 12.0, 5.0], noise=0.0)
    assert posterior.jitter == 1e-12
    ours = posterior.predict([1.0, 2.0])
    assert ours.mean[0] == pytest.approx(11.0, abs=1e-3)
    assert np.isfinite(ours.latent_sd).all()
    with pytest.raises(NumericalError, match="equal inputs in rows 1, 2"):
        condition(RBF, values, [1.0, 1.0, 3.0], [10.0, 12.0, 5.0], noise=0.0, jitter_limit=0.0)


def test_case_a2_a_constant_target_is_predicted_everywhere() -> None:
    cycles = np.arange(1.0, 31.0)
    scaling = TargetScaling.fit(np.full(30, 7.0), "standardise")
    posterior = condition(RBF, theta(1.0, 5.0, 0.1), cycles, scaling.to_scaled(np.full(30, 7.0)))
    ours = posterior.predict([1.0, 15.5, 1e6])
    assert scaling.to_original(ours.mean).tolist() == [7.0, 7.0, 7.0]
    assert scaling.variance_to_original(ours.latent_variance)[2] == 1.0
    assert (ours.latent_sd > 0).all()


def test_case_a2_one_row() -> None:
    values = theta(1.0, 2.0, 0.1)
    plain = condition(RBF, values, [5.0], [3.0]).predict([5.0, 7.0])
    assert_seven(plain.mean, [2.7272727, 1.6541745])
    assert_seven(plain.latent_variance, [0.0909091, 0.6655641])
    scaling = TargetScaling.fit([3.0], "standardise")
    centred = condition(RBF, values, [5.0], scaling.to_scaled([3.0])).predict([5.0, 7.0])
    assert scaling.to_original(centred.mean).tolist() == [3.0, 3.0]
    np.testing.assert_allclose(centred.latent_variance, plain.latent_variance, rtol=1e-14)


@pytest.mark.parametrize("noise", [1e-10, 1e-12])
def test_case_a4_latent_variances_stay_between_0_and_the_signal_variance(noise: float) -> None:
    x = np.linspace(0.0, 1.0, 60)
    posterior = condition(RBF, theta(1e4, 1.0, noise), x, np.sin(20 * x))
    ours = posterior.predict(x)
    assert (ours.latent_variance >= 0.0).all()
    assert (ours.latent_variance <= 1e4).all()
    assert np.isfinite(ours.latent_sd).all()
    assert (posterior.jitter > 0) == (noise < 1e-11), "plain Cholesky fails below, and the result says so"


def test_case_a4_a_variance_below_0_by_more_than_rounding_is_an_error() -> None:
    posterior = condition(RBF, theta(1.0, 1.0, 1e-4), [0.0, 1.0], [1.0, 2.0])
    inconsistent = replace(posterior, factor=0.999 * posterior.factor)
    with pytest.raises(NumericalError, match="below 0 by more than rounding"):
        inconsistent.predict([0.0])


def test_case_a7_the_two_bands_have_names() -> None:
    ours = condition(RBF, theta(4.0, 1.0, 0.25), [0.0, 1.0], [2.0, 3.0]).predict([0.0, 1000.0])
    assert_seven(ours.mean, [1.9749181, 0.0])
    assert_seven(ours.latent_sd, [0.4776875, 2.0])
    assert_seven(ours.observation_sd, [0.6915094, 2.0615528])
    half_width = 1.959963984540054
    assert half_width * ours.latent_sd[1] == pytest.approx(3.9199280, abs=5e-8)
    assert half_width * ours.observation_sd[1] == pytest.approx(4.0405693, abs=5e-8)


def test_case_a8_the_fit_without_the_bad_row() -> None:
    ours = condition(RBF, theta(4.0, 1.0, 0.1), [1.0, 3.0, 4.0], [1.0, 3.0, 4.0]).predict([2.0])
    assert_seven([ours.mean[0], ours.latent_variance[0]], [1.4483625, 1.2509670])


def test_case_f1_a_prior_alone_says_so() -> None:
    values = theta(1.0, 1.0, 0.01)
    ours = condition(RBF, values, [0.0, 2.0], [-1.0, 2.0]).predict([0.5])
    assert_seven([2.0 + ours.mean[0], ours.latent_variance[0]], [1.5703138, 0.1859590])
    prior = condition(RBF, values, [], [])
    alone = prior.predict([0.5])
    assert prior.prior_only
    assert (alone.mean.tolist(), alone.latent_variance.tolist()) == ([0.0], [1.0])
    assert alone.observation_variance[0] == pytest.approx(1.01)


def test_case_f3_inputs_of_another_width_are_refused() -> None:
    values = np.zeros(5)
    with pytest.raises(EncodingError, match="3 length-scales, the inputs have 2 features"):
        condition(RBF, values, np.zeros((4, 2)), np.zeros(4))
    posterior = condition(RBF, values, np.eye(3), np.arange(3.0))
    with pytest.raises(DataError, match="2 columns, the model has 3 features"):
        posterior.predict(np.zeros((1, 2)))


def test_case_f6_each_output_has_its_own_scale() -> None:
    for y, mean, sd in (([1, 2, 3, 4], 2.5, 0.1478380), ([4000, 3000, 2000, 1000], 2500.0, 147.8380088)):
        scaling = TargetScaling.fit(y, "standardise")
        posterior = condition(RBF, theta(1.0, 1.0, 0.01), [0.0, 1.0, 2.0, 3.0], scaling.to_scaled(y))
        ours = posterior.predict([1.5])
        assert scaling.to_original(ours.mean)[0] == pytest.approx(mean, rel=1e-12)
        assert np.sqrt(scaling.variance_to_original(ours.latent_variance))[0] == pytest.approx(sd, rel=2e-7)


def test_case_f7_a_noise_a_row() -> None:
    values = theta(9.0, 1.0, 0.01)
    posterior = condition(RBF, values, [0.0, 1.0, 2.0], [1.0, 5.0, 1.0], noise=[0.01, 4.0, 0.01])
    ours = posterior.predict([1.0])
    assert_seven([ours.mean[0], ours.latent_variance[0]], [2.8070729, 1.7694796])
    with pytest.raises(DataError, match="noise at new inputs is unknown"):
        _ = ours.observation_variance
    given = posterior.predict([1.0], noise=4.0)
    assert given.observation_variance[0] == pytest.approx(5.7694796, abs=5e-8)
    same = condition(RBF, values, [0.0, 1.0, 2.0], [1.0, 5.0, 1.0]).predict([1.0])
    assert same.mean[0] == pytest.approx(4.9876459, abs=5e-8)


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        ([0.1, 0.1], "2 noise variances for 3 rows"),
        (-0.1, "negative"),
        ([0.1, np.nan, 0.1], "not finite"),
        (np.inf, "not finite"),
    ],
)
def test_noise_that_is_no_variance_is_refused(noise: npt.ArrayLike, says: str) -> None:
    with pytest.raises(DataError, match=says):
        condition(RBF, np.zeros(3), [0.0, 1.0, 2.0], [1.0, 5.0, 1.0], noise=noise)


@pytest.mark.parametrize("make", [condition, condition_by_neighbours])
def test_a_callers_arrays_are_copied(make: Callable[..., AnyPosterior]) -> None:
    X, y, each, new_noise = np.array([[0.0], [1.0]]), np.array([1.0, 5.0]), np.array([0.1, 0.2]), np.array([0.3])
    posterior = make(RBF, np.zeros(3), X, y, noise=each)
    before = posterior.predict([0.5], noise=new_noise)
    X[:], y[:], each[:], new_noise[:] = 9.0, 9.0, -9.0, -9.0
    assert before.noise_variance == 0.3
    after = posterior.predict([0.5])
    assert (after.mean.tolist(), after.latent_variance.tolist()) == (
        before.mean.tolist(),
        before.latent_variance.tolist(),
    )


def test_bad_data_is_refused() -> None:
    with pytest.raises(DataError, match="row 2"):
        condition(RBF, np.zeros(3), [1.0, np.nan], [1.0, 2.0])
    with pytest.raises(DataError, match="3 targets for 2 rows"):
        condition(RBF, np.zeros(3), [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="over the limit"):
        condition(RBF, np.zeros(3), np.arange(11.0), np.arange(11.0), memory_limit=800)
    with pytest.raises(DataError, match="not of one size"):
        condition(RBF, np.zeros(3), [[1.0], [2.0, 3.0]], [1.0, 2.0])  # type: ignore[list-item]  # bad on purpose
    with pytest.raises(DataError, match="1 targets are masked"):
        condition(RBF, np.zeros(3), [1.0, 2.0], np.ma.masked_array([1.0, 2.0], [False, True]))
    with pytest.raises(DataError, match="noise variances are not numbers"):
        condition(RBF, np.zeros(3), [1.0, 2.0], [1.0, 2.0], noise=["a", "b"])
    posterior = condition(RBF, np.zeros(3), [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(DataError, match="row 1"):
        posterior.predict([np.inf])
    with pytest.raises(DataError, match="noise variance is -1"):
        posterior.predict([0.0], noise=-1.0)
    with pytest.raises(NumericalError, match="overflow"):
        posterior.predict([1e300])


def test_without_rows_the_shape_of_the_inputs_still_counts() -> None:
    with pytest.raises(EncodingError, match="1 length-scales, the inputs have 5 features"):
        condition(RBF, np.zeros(3), np.empty((0, 5)), [])
    assert condition(RBF, np.zeros(7), np.empty((0, 5)), []).covariance.features == 5
    assert condition(RBF, np.zeros(7), [], []).covariance.features == 5
    for text in ("linear", "constant"):
        kernel = kernel_named(text)
        prior = condition(kernel, np.zeros(2), np.empty((0, 2)), [])
        assert prior.predict([[1.0, 2.0]]).latent_variance.tolist() == [5.0 if text == "linear" else 1.0]
        assert condition(kernel, np.zeros(2), [], []).covariance.features == 1, "a flat sequence is one input a row"


def test_no_new_inputs_give_an_empty_prediction() -> None:
    ours = condition(RBF, np.zeros(3), [1.0, 2.0], [1.0, 2.0]).predict(np.zeros((0, 1)))
    assert ours.mean.shape == ours.observation_sd.shape == (0,)
