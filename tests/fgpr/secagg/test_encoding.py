import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgpr import canonical
from fgpr.errors import CapacityError, EncodingError, LocalProtocolError, SumRefused
from fgpr.secagg.encoding import Codec, check_capacity
from fgpr.secagg.field import MERSENNE_61, Elements, Field

FIELD = Field(MERSENNE_61)
CODEC = Codec(names=("signal", "noise", "length_scale"), lower=(-8.0, -14.0, -8.0), upper=(8.0, 2.0, 8.0))
LEVELS = 2**30 - 1


def test_three_clients_of_the_32_bit_example_fit_exactly() -> None:
    check_capacity(3, 8192, 2**17, 2**32)
    assert 3 * 8192 * 2**17 == 3_221_225_472


def test_four_clients_of_the_32_bit_example_would_wrap_to_zero_and_are_refused() -> None:
    with pytest.raises(CapacityError, match=r"4 clients \* .* 8192 \* .* 131072 = 4294967296 .* at most 3 clients fit"):
        check_capacity(4, 8192, 2**17, 2**32)


def test_the_default_codec_holds_32768_clients() -> None:
    CODEC.check_capacity(32_768)
    with pytest.raises(CapacityError, match="at most 32768 clients fit"):
        CODEC.check_capacity(32_769)
    with pytest.raises(CapacityError, match=r"3 clients \* .* at most 0 clients fit"):
        CODEC.check_capacity(3, 2**32)


@pytest.mark.parametrize("numbers", [(0, 1, 1, 7), (1, 0, 1, 7), (1, 1, -1, 7), (1, 1, 1, 0)])
def test_capacity_of_nothing_is_refused(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(EncodingError, match="at least 1"):
        check_capacity(*numbers)


def test_bounds_and_midpoint_become_the_expected_integers() -> None:
    encoded = CODEC.encode([-8.0, 2.0, 0.0], 3)
    # 0 is half of 2^30 - 1 levels: a tie, which goes to the even neighbour 2^29.
    assert encoded.vector.tolist() == [0, 3 * LEVELS, 3 * 2**29, 3]
    assert encoded.vector.dtype == np.uint64
    assert (encoded.weight, encoded.saturated, encoded.weight_capped) == (3, (), False)


def test_what_is_clipped_is_reported_and_not_decoded_as_something_else() -> None:
    # ln(1e5) against a clip of 8: exp(8) = 2980.96 would come back without a word.
    true = math.log(1e5)
    assert true == pytest.approx(11.5129, abs=1e-4)
    clients = [CODEC.encode([0.0, 0.0, true], 1) for _ in range(2)]
    assert [client.saturated for client in clients] == 2 * [("length_scale",)]
    wider = replace(CODEC, lower=(-8.0, -14.0, -12.0), upper=(8.0, 2.0, 12.0))
    encoded = wider.encode([0.0, 0.0, true], 1)
    assert encoded.saturated == ()
    assert math.exp(wider.decode(encoded.vector, 1).average[2]) == pytest.approx(1e5, rel=1e-6)


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (0.0, math.nan), (0.0, math.inf)]
)
def test_bad_bounds_are_refused_when_the_codec_is_made(lower: float, upper: float) -> None:
    with pytest.raises(EncodingError, match=r"noise: bounds .* are not finite"):
        Codec(names=("signal", "noise"), lower=(0.0, lower), upper=(1.0, upper))


@pytest.mark.parametrize(
    "change",
    [
        {"fraction_bits": 0},
        {"fraction_bits": -1},
        {"weight_bits": 0},
        {"fraction_bits": 45},
        {"weight_cap": 0},
        {"weight_cap": 65_536},
        {"names": ("a", "b")},
        {"names": ("a", "b", "b")},
        {"names": ("a", "b", "")},
        {"names": (), "lower": (), "upper": ()},
        {"upper": (8.0, 2.0)},
    ],
)
def test_values_that_cannot_work_together_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(EncodingError):
        replace(CODEC, **change)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_by_name(value: float) -> None:
    with pytest.raises(EncodingError, match="noise is"):
        CODEC.encode([0.0, value, 0.0], 1)


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), ()])
def test_another_number_of_numbers_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EncodingError, match="3 numbers are encoded"):
        CODEC.encode(np.zeros(shape), 1)


@pytest.mark.parametrize("weight", [0, -5, 1.5, 2.0, math.nan, "3", None, True, np.bool_(True)])
def test_a_weight_that_is_no_integer_from_one_is_refused(weight: Any) -> None:
    with pytest.raises(EncodingError, match="not an integer from 1"):
        CODEC.encode([0.0, 0.0, 0.0], weight)


def test_a_weight_above_the_cap_counts_as_the_cap_and_says_so() -> None:
    encoded = CODEC.encode([0.0, 0.0, 0.0], 10**12)
    assert (encoded.weight, encoded.weight_capped) == (65_535, True)
    assert encoded.vector[-1] == 65_535
    at_cap = CODEC.encode([0.0, 0.0, 0.0], np.int64(65_535))
    assert (at_cap.weight, at_cap.weight_capped) == (65_535, False)


def test_secret_values_do_not_show_in_repr() -> None:
    shown = repr(CODEC.encode([-8.0, -14.0, -8.0], 4321))
    assert "4321" not in shown


def test_the_average_is_weighted() -> None:
    codec = Codec(names=("theta",), lower=(0.0,), upper=(100.0,))
    total = FIELD.add(codec.encode([20.0], 192).vector, codec.encode([50.0], 64).vector)
    decoded = codec.decode(total, 2)
    assert decoded.total_weight == 256
    assert decoded.average[0] == pytest.approx((20 * 192 + 50 * 64) / 256, abs=100 / LEVELS / 2)
    assert decoded.average.dtype == np.float64


@given(st.data())
def test_the_average_is_within_half_a_level_of_the_exact_one(data: st.DataObject) -> None:
    finite = st.floats(allow_nan=False, allow_infinity=False)
    length = data.draw(st.integers(1, 3))
    bounds = [
        sorted(data.draw(st.lists(finite, min_size=2, max_size=2, unique=True).filter(lambda b: b[0] != b[1])))
        for _ in range(length)
    ]
    weight_bits = data.draw(st.integers(1, 16))
    codec = Codec(
        names=tuple(f"number {number}" for number in range(length)),
        lower=tuple(low for low, _ in bounds),
        upper=tuple(high for _, high in bounds),
        fraction_bits=data.draw(st.integers(1, 30)),
        weight_bits=weight_bits,
        weight_cap=data.draw(st.integers(1, 2**weight_bits - 1)),
    )
    clients = data.draw(
        st.lists(
            st.tuples(st.lists(finite, min_size=length, max_size=length), st.integers(1, 70_000)),
            min_size=1,
            max_size=5,
        )
    )
    encoded = [codec.encode(values, weight) for values, weight in clients]
    decoded = codec.decode(FIELD.total(np.stack([client.vector for client in encoded])), len(clients))
    weights = [min(weight, codec.weight_cap) for _, weight in clients]
    assert decoded.total_weight == sum(weights)
    for number, (low, high) in enumerate(bounds):
        clipped = [Fraction(min(max(values[number], low), high)) for values, _ in clients]
        exact = sum((w * value for w, value in zip(weights, clipped, strict=True)), Fraction(0)) / sum(weights)
        got = float(decoded.average[number])
        assert low <= got <= high
        half_a_level = (Fraction(high) - Fraction(low)) / (2**codec.fraction_bits - 1) / 2
        # The result is the float next to the decoded rational number: half a unit in the last place more.
        assert abs(Fraction(got) - exact) <= half_a_level + Fraction(math.ulp(got)) / 2
        for (values, _), client in zip(clients, encoded, strict=True):
            assert (codec.names[number] in client.saturated) == (not low <= values[number] <= high)


@pytest.mark.parametrize(
    ("total", "cohort_size"),
    [
        ([0, 0, 0, 2], 3),
        ([0, 0, 0, 0], 1),
        ([0, 0, 0, 3 * 65_535 + 1], 3),
        ([3 * LEVELS + 1, 0, 0, 3], 3),
        ([0, 0, MERSENNE_61 - 1, 3], 3),
    ],
)
def test_sums_that_no_honest_cohort_has_are_refused(total: list[int], cohort_size: int) -> None:
    with pytest.raises(SumRefused):
        CODEC.decode(FIELD.array(total), cohort_size)


def test_sums_at_the_very_edge_are_taken() -> None:
    low = CODEC.decode(FIELD.array([0, 0, 0, 3]), 3)
    assert low.average.tolist() == [-8.0, -14.0, -8.0]
    weight = 3 * 65_535
    high = CODEC.decode(FIELD.array([weight * LEVELS] * 3 + [weight]), 3)
    assert high.average.tolist() == [8.0, 2.0, 8.0]


@pytest.mark.parametrize("total", [np.zeros(3, dtype=np.uint64), np.zeros((4, 1), dtype=np.uint64)])
def test_a_sum_of_another_shape_is_refused(total: Elements) -> None:
    with pytest.raises(EncodingError, match="a sum of 4 elements"):
        CODEC.decode(total, 1)


def test_an_empty_cohort_has_no_average() -> None:
    with pytest.raises(LocalProtocolError, match="no average"):
        CODEC.decode(FIELD.array([0, 0, 0, 0]), 0)


def test_a_codec_comes_back_from_canonical_json() -> None:
    codec = replace(CODEC, lower=(-0.1, -1e300, 5e-324), fraction_bits=20, weight_cap=1)
    raw = canonical.encode(codec.to_json())
    assert Codec.from_json(canonical.parse(raw)) == codec
    assert canonical.encode(Codec.from_json(canonical.parse(raw)).to_json()) == raw
    assert all(type(bound) is float for bound in Codec.from_json(canonical.parse(raw)).upper)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"fraction_bits": "30"},
        {"fraction_bits": 30.0},
        {"weight_cap": True},
        {"weight_bits": None},
        {"lower": ["-8", "-14", "-8"]},
        {"lower": [True, -14, -8]},
        {"lower": 3},
        {"lower": "abc"},
        {"upper": [8, 2, 10**400]},
        {"upper": [8, 2]},
        {"upper": [-8, 2, 8]},
        {"names": "abc"},
        {"names": [1, 2, 3]},
    ],
)
def test_json_that_is_no_codec_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(EncodingError):
        Codec.from_json(CODEC.to_json() | change)


@pytest.mark.parametrize("value", [None, [], "codec", {}, {"names": ["a"]}])
def test_json_of_another_form_is_refused(value: Any) -> None:
    with pytest.raises(EncodingError, match="exactly the fields"):
        Codec.from_json(value)


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.integers(1, 44),
)
def test_a_level_is_the_rounded_exact_one(value: float, one: float, other: float, bits: int) -> None:
    lower, upper = sorted((one, other))
    if lower == upper:
        return
    value = min(max(value, lower), upper)
    exact = (Fraction(value) - Fraction(lower)) / (Fraction(upper) - Fraction(lower)) * (2**bits - 1)
    encoded = Codec(("x",), (lower,), (upper,), fraction_bits=bits).encode([value], 1)
    assert int(encoded.vector[0]) == round(exact)


def test_a_level_in_the_middle_goes_to_the_even_one() -> None:
    codec = Codec(("x",), (0.0,), (3.0,), fraction_bits=2)
    assert [int(codec.encode([x], 1).vector[0]) for x in (0.5, 1.5, 2.5)] == [0, 2, 2]
