from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import linregress

from soak.slope import slope


def test_without_correlation_it_is_least_squares() -> None:
    rng = np.random.default_rng(1)
    y = 3 + 0.25 * np.arange(200) + rng.normal(size=200) * np.where(np.arange(200) % 2, 1.0, 1.0)
    expected = linregress(np.arange(200), y)
    found = slope(y)
    assert found.value == pytest.approx(expected.slope, rel=1e-12)
    # Lag-1 correlation of 200 independent numbers is within 0.2, which is a fifth of the error.
    assert expected.stderr * (1 - 1e-9) <= found.error <= 1.25 * expected.stderr
    assert not found.is_flat


def test_noise_is_flat_and_so_is_a_constant() -> None:
    assert slope(np.random.default_rng(2).normal(size=500)).is_flat
    assert (slope([7.0] * 20).value, slope([7.0] * 20).error) == (0.0, 0.0)
    assert slope([7.0] * 20).is_flat


def test_a_random_walk_is_not_taken_for_a_leak_as_least_squares_would() -> None:
    rng, plain, widened = np.random.default_rng(3), 0, 0
    for _ in range(200):
        y = np.zeros(400)
        for step in range(1, 400):
            y[step] = 0.9 * y[step - 1] + rng.normal()
        found, naive = slope(y), linregress(np.arange(400), y)
        plain += abs(naive.slope) > 2 * naive.stderr
        widened += not found.is_flat
    assert plain > 100
    assert widened < 30


@pytest.mark.parametrize(
    ("grown", "rate"),
    [
        (lambda x: 20.0 * x, 20.0),
        (lambda x: 0.1 * x**2, 0.1 * 199),
        (lambda x: 1024.0 * np.floor(x / 51), 1024 / 51),
        (lambda x: np.floor(x / 30), 1 / 30),
    ],
    ids=["straight", "faster and faster", "a MB at a time", "a file at a time"],
)
def test_a_leak_is_found_whatever_its_shape(grown: Callable[[np.ndarray], np.ndarray], rate: float) -> None:
    found = slope(grown(np.arange(200.0)))
    assert found.value == pytest.approx(rate, rel=0.1)
    assert not found.is_flat
