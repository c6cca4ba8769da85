"""Samples against the exact probabilities exp(-x^2 / (2 sigma^2)) / sum_k exp(-k^2 / (2 sigma^2))."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

from fgpr.errors import EncodingError
from fgpr.secagg.discrete_gaussian import sample


def exact(variance: Fraction, reach: int) -> dict[int, float]:
    """Probabilities of -reach..reach."""
    weights = {x: math.exp(-x * x / (2 * float(variance))) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def binned(drawn: list[int], probabilities: dict[int, float]) -> tuple[list[int], list[float]]:
    """Counts and expected counts, tails put together so that each is expected at least ten times."""
    inner = [x for x, p in probabilities.items() if p * len(drawn) >= 10]
    low, high = min(inner), max(inner)
    counts = [
        sum(x < low for x in drawn),
        *(drawn.count(x) for x in range(low, high + 1)),
        sum(x > high for x in drawn),
    ]
    chances = [probabilities[x] for x in range(low, high + 1)]
    tail = (1 - math.fsum(chances)) / 2
    expected = [p * len(drawn) for p in [tail, *chances, tail]]
    if expected[0] < 10:
        counts[1:2], counts[-2:-1] = [counts[1] + counts[0]], [counts[-2] + counts[-1]]
        expected[1:2], expected[-2:-1] = [expected[1] + tail * len(drawn)], [expected[-2] + tail * len(drawn)]
        counts, expected = counts[1:-1], expected[1:-1]
    return counts, expected


@pytest.mark.parametrize(
    "variance",
    [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(2), Fraction(9), Fraction(100), Fraction(12_345, 77)],
)
def test_the_frequencies_are_the_distribution_s(variance: Fraction) -> None:
    drawn = sample(variance, 40_000, random.Random(2020).randbytes)
    counts, expected = binned(drawn, exact(variance, 12 * math.isqrt(math.ceil(variance)) + 12))
    scale = sum(counts) / sum(expected)
    result = stats.chisquare(counts, [count * scale for count in expected])
    # Fixed draws: this either holds for good or never. A wrong probability of a few percent gives below 1e-12.
    assert result.pvalue > 0.01


def test_the_chi_square_notices_a_rounded_gaussian() -> None:
    # What is drawn instead by rounding a continuous Gaussian: its variance is larger by 1/12.
    generator = random.Random(2020)
    drawn = [round(generator.gauss(0, 0.5)) for _ in range(40_000)]
    counts, expected = binned(drawn, exact(Fraction(1, 4), 12))
    scale = sum(counts) / sum(expected)
    assert stats.chisquare(counts, [count * scale for count in expected]).pvalue < 1e-12


@pytest.mark.parametrize("bits", [0, 4, 20, 40, 80])
def test_mean_and_variance_at_any_size(bits: int) -> None:
    variance = Fraction(2 ** (2 * bits), 3) + 1
    count = 20_000
    scaled = [x / 2**bits for x in sample(variance, count, random.Random(bits).randbytes)]
    wanted = float(variance / 2 ** (2 * bits))
    assert abs(math.fsum(scaled) / count) < 4 * math.sqrt(wanted / count)
    # The standard error of a variance of Gaussians is sqrt(2 / n) of it.
    assert abs(math.fsum(x * x for x in scaled) / count / wanted - 1) < 4 * math.sqrt(2 / count)


def test_it_is_symmetric() -> None:
    drawn = sample(Fraction(50), 40_000, random.Random(5).randbytes)
    above, below = sum(x > 0 for x in drawn), sum(x < 0 for x in drawn)
    assert stats.binomtest(above, above + below).pvalue > 0.01
    mirrored = stats.ks_2samp([x for x in drawn if x > 0], [-x for x in drawn if x < 0])
    assert mirrored.pvalue > 0.01


def test_a_tiny_sigma_gives_zeros_and_a_huge_one_does_not_overflow() -> None:
    # P(X != 0) is about 2 exp(-5000).
    assert set(sample(Fraction(1, 10_000), 500, random.Random(1).randbytes)) == {0}
    huge = sample(Fraction(2**255, 3), 200, random.Random(1).randbytes)
    assert all(abs(x) < 10 * 2**127 for x in huge)
    assert len({x % 1024 for x in huge}) > 100


def test_the_same_bytes_give_the_same_samples_and_other_bytes_others() -> None:
    first, again, other = (sample(Fraction(10**6), 8, random.Random(seed).randbytes) for seed in (3, 3, 4))
    assert first == again != other
    assert sample(Fraction(1), 0, random.Random(3).randbytes) == []


@pytest.mark.parametrize(
    "variance",
    [Fraction(0), Fraction(-1, 2), 1.0, 1, math.nan, None, "1", Fraction(2**256), Fraction(1, 2**256)],
)
def test_what_is_no_variance_is_refused(variance: Any) -> None:
    with pytest.raises(EncodingError, match="variance of discrete Gaussian noise"):
        sample(variance, 1, random.Random(1).randbytes)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(EncodingError, match="-1 samples"):
        sample(Fraction(1), -1, random.Random(1).randbytes)
