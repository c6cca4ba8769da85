"""Signed encodings: exact sums, the ball of the clip, noise in the field, clamped averages."""

import math
import random
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgpr.errors import CapacityError, EncodingError, LocalProtocolError, SumRefused
from fgpr.secagg import discrete_gaussian
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.differences import DifferenceCodec
from fgpr.secagg.encoding import Codec, Encoded
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.privacy import PrivacyTerms, noise_tail

CODEC = Codec(names=("a", "b", "c"), lower=(-4.0, -4.0, -1.0), upper=(4.0, 4.0, 8.0))
ORIGIN = (0.5, -1.0, 2.0)


def codec(**changes: Any) -> DifferenceCodec:
    fields: dict[str, Any] = {
        "mechanism": "distributed-discrete-gaussian",
        "origin": ORIGIN,
        "quantum": 2.0**-10,
        "clip": 2048,
        "sigma": 3000,
        "carriers": 4,
        "delta": 1e-5,
    }
    return DifferenceCodec(CODEC, PrivacyTerms(**(fields | changes)))


def silent(made: DifferenceCodec, x: Any) -> Encoded:
    """The encoding with noise 0 forced through the same path."""
    with patch.object(discrete_gaussian, "sample", return_value=[0, 0, 0]):
        return made.encode(x, random.Random(1).randbytes)


def summed(encoded: list[Encoded]) -> np.ndarray:
    return FIELD.total(np.stack([each.vector for each in encoded]))


def norm(quanta: list[int]) -> float:
    return math.sqrt(sum(number * number for number in quanta))


def test_a_difference_in_whole_quanta() -> None:
    made = codec()
    # 3.4, -7.5 and 0.5 quanta from the origin: halves go to even.
    x = np.array(ORIGIN) + np.array([3.4, -7.5, 0.5]) * 2.0**-10
    assert made.quanta(x) == ([3, -8, 0], (), False)
    assert silent(made, x).vector.tolist() == [3, MERSENNE_61 - 8, 0, 1]
    assert made.length == 4


def test_numbers_outside_the_bounds_are_clipped_and_named() -> None:
    made = codec(clip=2**20)
    quanta, saturated, shrunk = made.quanta([9.0, -1.0, -5.0])
    assert (saturated, shrunk) == (("a", "c"), False)
    assert quanta == [3584, 0, -3072]


def test_what_is_longer_than_the_clip_is_shrunk_towards_the_origin() -> None:
    made = codec()
    x = np.array(ORIGIN) + np.array([3.0, 0.0, 4.0])
    quanta, _, shrunk = made.quanta(x)
    assert shrunk
    # (3, 4) / 5 of 2048 quanta, less a quantum at most.
    np.testing.assert_allclose(quanta, [1228.8, 0, 1638.4], atol=1.5)
    assert norm(quanta) <= 2048
    assert silent(made, x).shrunk
    assert not silent(made, ORIGIN).shrunk


@pytest.mark.parametrize("clip", [1, 2, 3, 2048])
def test_the_rounded_vector_is_inside_even_where_the_exact_one_is_on_the_border(clip: int) -> None:
    # All three numbers are rounded up where the exact vector has a norm of just C.
    made = codec(clip=clip, sigma=clip)
    away = clip / math.sqrt(3)
    for step in (away, away + 0.2, math.floor(away) + 0.5000001):
        quanta, _, _ = made.quanta(np.array(ORIGIN) + step * 2.0**-10)
        assert sum(number**2 for number in quanta) <= clip**2


@settings(max_examples=300, deadline=None)
@given(
    x=st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    clip=st.integers(1, 5000),
    quantum=st.floats(1e-6, 0.5),
)
def test_no_difference_leaves_the_ball_and_what_is_inside_is_rounded_to_nearest(
    x: list[float], clip: int, quantum: float
) -> None:
    made = codec(clip=clip, quantum=quantum)
    quanta, _, shrunk = made.quanta(x)
    assert sum(number * number for number in quanta) <= clip * clip
    inside = np.clip(x, CODEC.lower, CODEC.upper).tolist()
    away = [Fraction(value) - Fraction(start) for value, start in zip(inside, ORIGIN, strict=True)]
    exact = [number / Fraction(quantum) for number in away]
    if not shrunk:
        assert all(abs(number - wanted) <= Fraction(1, 2) for number, wanted in zip(quanta, exact, strict=True))
    else:
        # The same direction, and of what the ball takes no more is lost than rounding asks for.
        assert all(number * wanted >= 0 for number, wanted in zip(quanta, exact, strict=True))
        assert norm(quanta) >= clip - 2 - 2 * math.sqrt(3)


@settings(max_examples=100, deadline=None)
@given(updates=st.lists(st.lists(st.floats(-0.9, 0.9), min_size=3, max_size=3), min_size=1, max_size=30))
def test_without_noise_the_decoded_mean_is_within_half_a_quantum(updates: list[list[float]]) -> None:
    made = codec(clip=10**6)
    xs = [np.array(ORIGIN) + np.array(update) for update in updates]
    decoded = made.decode(summed([silent(made, x) for x in xs]), len(xs))
    for column, number in enumerate(decoded.average.tolist()):
        exact = sum((Fraction(float(x[column])) for x in xs), Fraction(0)) / len(xs)
        # The mean is made a float once, at the end.
        assert abs(Fraction(number) - exact) <= Fraction(1, 2**11) + Fraction(abs(number)) / 2**52
    assert decoded.total_weight == len(xs)
    assert decoded.clamped == ()


@settings(max_examples=50, deadline=None)
@given(
    updates=st.lists(st.lists(st.floats(-3, 3), min_size=3, max_size=3), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
)
def test_with_noise_the_sum_in_the_field_is_the_exact_sum_and_the_sum_of_the_noises(
    updates: list[list[float]], seed: int
) -> None:
    made = codec()
    noises: list[list[int]] = []
    sample = discrete_gaussian.sample

    def recorded(variance: Fraction, count: int, random_bytes: discrete_gaussian.RandomBytes) -> list[int]:
        assert variance == Fraction(3000**2, 4)
        noises.append(sample(variance, count, random_bytes))
        return noises[-1]

    generator = random.Random(seed)
    with patch.object(discrete_gaussian, "sample", recorded):
        encoded = [made.encode(update, generator.randbytes) for update in updates]
    wanted = [
        sum(made.quanta(update)[0][column] for update in updates) + sum(noise[column] for noise in noises)
        for column in range(3)
    ]
    total = summed(encoded)
    assert total.tolist() == [*(number % MERSENNE_61 for number in wanted), len(updates)]
    decoded = made.decode(total, len(updates))
    for number, start, lower, upper, quanta in zip(
        decoded.average.tolist(), ORIGIN, CODEC.lower, CODEC.upper, wanted, strict=True
    ):
        exact = Fraction(start) + Fraction(quanta, len(updates) * 2**10)
        assert number == float(min(max(exact, Fraction(lower)), Fraction(upper)))


def test_averages_that_the_noise_carries_out_of_bounds_are_clamped_and_named() -> None:
    made = codec(clip=8000, sigma=3000)
    total = FIELD.array([8000 * 2, 0, MERSENNE_61 - 7000 * 2, 2])
    decoded = made.decode(total, 2)
    assert decoded.average.tolist() == [4.0, -1.0, -1.0]
    assert decoded.clamped == ("a", "c")


def test_a_sum_is_refused_one_quantum_beyond_what_honest_clients_can_make() -> None:
    made = codec()
    most = 5 * 2048 + noise_tail(5, made.terms)
    made.decode(FIELD.array([most, MERSENNE_61 - most, 0, 5]), 5)
    for word in (most + 1, MERSENNE_61 - most - 1, MERSENNE_61 // 2, MERSENNE_61 // 2 + 1):
        with pytest.raises(SumRefused, match="beyond what 5 clients and their noise"):
            made.decode(FIELD.array([0, word, 0, 5]), 5)


@pytest.mark.parametrize("weight", [0, 4, 6, MERSENNE_61 - 1])
def test_weights_that_do_not_count_the_clients_are_refused(weight: int) -> None:
    with pytest.raises(SumRefused, match=f"total weight {weight} of 5 clients"):
        codec().decode(FIELD.array([0, 0, 0, weight]), 5)


def test_other_shapes_and_empty_cohorts_are_refused() -> None:
    with pytest.raises(EncodingError, match="sum of 4 elements"):
        codec().decode(FIELD.array([0, 0, 0]), 3)
    with pytest.raises(LocalProtocolError, match="0 clients"):
        codec().decode(FIELD.array([0, 0, 0, 0]), 0)
    with pytest.raises(EncodingError, match="3 numbers are encoded"):
        codec().encode([1.0, 2.0], random.Random(1).randbytes)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_its_name(number: float) -> None:
    with pytest.raises(EncodingError, match=f"b is {number}"):
        codec().encode([0.0, number, 0.0], random.Random(1).randbytes)


@pytest.mark.parametrize(
    ("origin", "reason"),
    [((0.0, 0.0), "2 numbers for a codec of 3"), ((0.0, 4.5, 0.0), "b is 4.5"), ((0.0, 0.0, -1.1), "c is -1.1")],
)
def test_an_origin_that_is_no_prior_of_this_codec_is_refused(origin: tuple[float, ...], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        codec(origin=origin)


def test_sums_that_could_wrap_around_are_refused_by_the_number_of_clients() -> None:
    made = codec(clip=2**53 - 1)
    made.check_capacity(127)
    with pytest.raises(CapacityError, match="128 clients"):
        made.check_capacity(128)


def test_nothing_of_an_encoding_shows() -> None:
    assert "vector" not in repr(silent(codec(), ORIGIN))
