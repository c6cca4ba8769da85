import numpy as np
import pytest

from fgpr.errors import DataError, NumericalError
from fgpr.gp.hyperparameters import Hyperparameters
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.posterior import condition
from fgpr.gp.prediction import JointPrediction
from support.kernels import FASTEST

THETA = Hyperparameters(2.0, 0.5, (1.0,)).theta


@pytest.mark.parametrize("name", FASTEST)
def test_the_joint_covariance_is_that_of_the_closed_form(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y, new = rng.uniform(0, 5, 30), rng.normal(size=30), np.linspace(-1.0, 6.0, 25)
    kernel = kernel_named(name)

    def k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        u = np.sqrt(3.0) * np.abs(a[:, None] - b)
        correlation: np.ndarray = np.exp(-(u**2) / 6.0) if name == "rbf" else (1 + u) * np.exp(-u)
        return 4.0 * correlation

    gain = np.linalg.solve(k(x, x) + 0.25 * np.eye(30), k(x, new)).T
    posterior = condition(kernel, THETA, x, y)
    ours = posterior.predict_jointly(new)
    np.testing.assert_allclose(ours.mean, gain @ y, rtol=0, atol=1e-12)
    expected = k(new, new) - gain @ k(x, new)
    np.testing.assert_allclose(ours.latent_covariance, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.observation_covariance, expected + 0.25 * np.eye(25), rtol=0, atol=1e-12)
    assert np.array_equal(ours.latent_covariance, ours.latent_covariance.T)
    alone = posterior.predict(new)
    np.testing.assert_allclose(ours.latent_covariance.diagonal(), alone.latent_variance, rtol=0, atol=1e-14)


def test_samples_have_the_joint_mean_and_covariance() -> None:
    ours = condition(kernel_named("rbf"), THETA, [0.0, 1.0], [2.0, 3.0]).predict_jointly([0.0, 0.5, 4.0])
    for observation, covariance in ((False, ours.latent_covariance), (True, ours.observation_covariance)):
        drawn = ours.sample(200_000, np.random.default_rng(7), observation)
        # Four standard errors of a mean and of a variance of 200,000 draws.
        sd = np.sqrt(covariance.diagonal())
        assert (np.abs(drawn.mean(axis=0) - ours.mean) < 4 * sd / np.sqrt(200_000)).all()
        assert (np.abs(np.cov(drawn.T) - covariance) < 4 * np.sqrt(2 / 200_000) * np.outer(sd, sd)).all()


def test_samples_of_a_singular_covariance_are_smooth_functions() -> None:
    """A dense grid and a repeated input: Cholesky would fail here without a jitter."""
    grid = np.r_[np.linspace(0.0, 1.0, 200), 0.5, 0.5]
    ours = condition(kernel_named("rbf"), THETA, [0.0, 1.0], [2.0, 3.0]).predict_jointly(grid)
    drawn = ours.sample(5, np.random.default_rng(0))
    assert drawn.shape == (5, 202)
    np.testing.assert_allclose(drawn[:, -1], drawn[:, -2], rtol=0, atol=1e-6)
    assert np.abs(np.diff(drawn[:, :200])).max() < 0.1
    assert np.array_equal(drawn, ours.sample(5, np.random.default_rng(0))), "the same generator, the same functions"


def test_the_prior_has_samples_too() -> None:
    ours = condition(kernel_named("rbf"), THETA, [], []).predict_jointly([0.0, 1.0])
    np.testing.assert_allclose(ours.latent_covariance, 4.0 * np.exp([[0, -0.5], [-0.5, 0]]), rtol=1e-14)
    assert ours.sample(0, np.random.default_rng(0)).shape == (0, 2)
    assert condition(kernel_named("rbf"), THETA, [0.0], [1.0]).predict_jointly([]).mean.shape == (0,)


@pytest.mark.parametrize("rows", [[], [0.0, 1.0]])
def test_new_inputs_far_from_the_rows_keep_their_distances(rows: list[float]) -> None:
    posterior = condition(kernel_named("rbf"), np.log([1.0, 0.3, 1.0]), rows, rows)
    ours = posterior.predict_jointly([1e9, 1e9 + 0.5]).latent_covariance
    np.testing.assert_allclose(ours, np.exp([[0.0, -0.125], [-0.125, 0.0]]), rtol=0, atol=1e-9)
    with pytest.raises(NumericalError, match="span too many length-scales"):
        posterior.predict_jointly([0.0, 0.5, 1e9, 1e9 + 0.5])


def test_what_cannot_be_sampled_is_refused() -> None:
    rows = condition(kernel_named("rbf"), THETA, [0.0, 1.0], [2.0, 3.0], noise=[0.1, 0.2], memory_limit=1_000)
    joint = rows.predict_jointly([0.0])
    with pytest.raises(DataError, match="noise at new inputs is unknown"):
        joint.sample(1, np.random.default_rng(0), observation=True)
    with pytest.raises(DataError, match="-1 samples"):
        joint.sample(-1, np.random.default_rng(0))
    with pytest.raises(DataError, match="covariances of 15 new inputs with each other and with 2 rows, over the limit"):
        rows.predict_jointly(np.zeros(15))
    impossible = JointPrediction(np.zeros(2), np.array([[1.0, 1.1], [1.1, 1.0]]), 0.1, 1.0)
    with pytest.raises(NumericalError, match=r"eigenvalue -0.1, below 0 by more than rounding"):
        impossible.sample(1, np.random.default_rng(0))


def test_a_noise_for_each_new_input() -> None:
    posterior = condition(kernel_named("rbf"), THETA, [0.0, 1.0], [2.0, 3.0])
    ours = posterior.predict([0.0, 1000.0], noise=[0.25, 1.0])
    np.testing.assert_allclose(ours.observation_variance, ours.latent_variance + np.array([0.25, 1.0]), rtol=1e-15)
    joint = posterior.predict_jointly([0.0, 1000.0], noise=[0.25, 1.0])
    np.testing.assert_allclose(joint.observation_covariance[1, 1], 5.0, rtol=1e-15)
    with pytest.raises(DataError, match="3 noise variances for 2 new inputs"):
        posterior.predict([0.0, 1000.0], noise=[0.1, 0.1, 0.1])
    with pytest.raises(DataError, match="not numbers"):
        posterior.predict([0.0], noise="much")
