import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.federated.participation import Draw, everyone, proportional_sample, uniform_sample

COUNTS = [10, 0, 30, 60]


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_everyone_with_observations_takes_part() -> None:
    assert everyone(COUNTS, rng()) == Draw((0, 2, 3), (10, 30, 60))


def test_a_uniform_sample_keeps_the_weights() -> None:
    generator = rng()
    draws = [uniform_sample(2)(COUNTS, generator) for _ in range(3000)]
    assert all(draw.weights == tuple(COUNTS[client] for client in draw.clients) for draw in draws)
    shares = [sum(client in draw.clients for draw in draws) / 3000 for client in range(4)]
    # Standard error of a share of 2/3 over 3,000 draws: 0.0086.
    np.testing.assert_allclose(shares, [2 / 3, 0.0, 2 / 3, 2 / 3], atol=0.035)


def test_with_replacement_a_client_counts_as_often_as_it_is_drawn() -> None:
    generator = rng()
    totals = np.zeros(4)
    for _ in range(1000):
        draw = proportional_sample(5, replacement=True)(COUNTS, generator)
        assert sum(draw.weights) == 5
        assert list(draw.clients) == sorted(set(draw.clients))
        totals[list(draw.clients)] += draw.weights
    # Standard error of a share of 0.6 over 5,000 draws: 0.007.
    np.testing.assert_allclose(totals / 5000, [0.1, 0.0, 0.3, 0.6], atol=0.03)


def test_without_replacement_the_law_is_that_of_drawing_one_after_another() -> None:
    generator = rng()
    draws = [proportional_sample(2, replacement=False)(COUNTS, generator) for _ in range(4000)]
    assert all(draw.weights == (1, 1) for draw in draws)
    pairs = {pair: sum(draw.clients == pair for draw in draws) / 4000 for pair in ((0, 2), (0, 3), (2, 3))}
    # P(first i, then j) = p_i p_j / (1 - p_i), both orders added up.
    p = {0: 0.1, 2: 0.3, 3: 0.6}
    expected = {(i, j): p[i] * p[j] / (1 - p[i]) + p[i] * p[j] / (1 - p[j]) for i, j in pairs}
    assert pairs == pytest.approx(expected, abs=0.04)


def test_draws_come_from_the_generator_alone() -> None:
    for scheme in (uniform_sample(2), proportional_sample(2, replacement=True)):
        assert scheme(COUNTS, rng()) == scheme(COUNTS, rng())


def test_samples_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(DataError, match="3 of 4 clients have observations: 4 are needed"):
        uniform_sample(4)(COUNTS, rng())
    with pytest.raises(DataError, match="4 are needed"):
        proportional_sample(4, replacement=False)(COUNTS, rng())
    assert sum(proportional_sample(4, replacement=True)(COUNTS, rng()).weights) == 4
    with pytest.raises(DataError, match="0 of 2 clients"):
        everyone([0, 0], rng())
    with pytest.raises(DataError, match="client 1 has a negative count"):
        everyone([3, -1], rng())
    for scheme in (uniform_sample(0), proportional_sample(0, replacement=True)):
        with pytest.raises(DataError, match="at least 1"):
            scheme(COUNTS, rng())
