"""Draws from a known process have its variances; the sine curves are what they say."""

import numpy as np
import pytest
from scipy.stats import chi2

from fgpr.errors import DataError
from fgpr.experiments.generators import gaussian_process, noisy_sine, opposite_sines
from fgpr.gp.hyperparameters import Hyperparameters
from fgpr.gp.kernels.kernel import kernel_named


def test_a_drawn_process_has_its_variance_and_correlation() -> None:
    kernel, truth = kernel_named("rbf"), Hyperparameters(2.0, 0.5, (0.3,)).theta
    clients = gaussian_process(kernel, truth, [2] * 1000, 1, np.random.default_rng(0))
    X = np.array([client.X[:, 0] for client in clients])
    y = np.array([client.y for client in clients])
    assert y.var() == pytest.approx(4.0 + 0.25, rel=0.1)
    expected = 4.0 * np.exp(-((X[:, 0] - X[:, 1]) ** 2) / (2 * 0.09))
    assert np.mean(y[:, 0] * y[:, 1]) == pytest.approx(expected.mean(), rel=0.12)


def test_a_draw_has_the_whole_law_of_its_rows() -> None:
    kernel, truth = kernel_named("matern-3/2"), Hyperparameters(3.0, 0.2, (0.1, 0.4)).theta
    (client,) = gaussian_process(kernel, truth, [400], 2, np.random.default_rng(0))
    r = np.sqrt(3.0 * (((client.X[:, np.newaxis] - client.X) / [0.1, 0.4]) ** 2).sum(axis=2))
    covariance = 9.0 * (1.0 + r) * np.exp(-r) + 0.04 * np.eye(400)
    # y' K^-1 y of a draw from N(0, K) is chi-squared with as many degrees of freedom as rows.
    assert chi2(400).cdf(client.y @ np.linalg.solve(covariance, client.y)) == pytest.approx(0.5, abs=0.499)


def test_more_rows_than_memory_are_refused_before_they_are_drawn() -> None:
    with pytest.raises(DataError, match=r"20000 rows need 3\.20 GB"):
        gaussian_process(
            kernel_named("rbf"), Hyperparameters(1.0, 0.5, (0.3,)).theta, [20_000], 1, np.random.default_rng(0)
        )


def test_the_sines_are_opposite() -> None:
    plus, minus = opposite_sines()
    assert plus.y == pytest.approx(np.sin(plus.X[:, 0]))
    assert plus.y + minus.y == pytest.approx(np.zeros(100))


def test_the_noisy_sine_has_its_noise() -> None:
    one, two = noisy_sine(np.random.default_rng(0), rows=5000)
    for client in (one, two):
        assert (client.y - np.sin(client.X[:, 0])).var() == pytest.approx(0.2, rel=0.06)
    assert not np.array_equal(one.X, two.X)
