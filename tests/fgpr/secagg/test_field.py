import base64
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgpr.errors import EncodingError, NumericalError
from fgpr.secagg.field import MERSENNE_61, Elements, Field

MODULI = [MERSENNE_61, 2**31 - 1, 2**32 - 5, 65537, 2]
FIELDS = {modulus: Field(modulus) for modulus in MODULI}


def edges(modulus: int) -> list[int]:
    around = [0, 1, 2, 2**30, 2**31 - 1, 2**31, 2**32, 2**60, modulus // 2, modulus - 2, modulus - 1]
    return sorted({value % modulus for value in around})


def generator(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


@pytest.mark.parametrize("modulus", MODULI)
def test_arithmetic_at_the_edges_is_that_of_python_integers(modulus: int) -> None:
    field, values = FIELDS[modulus], edges(modulus)
    left, right = field.array(values)[:, None], field.array(values)[None, :]
    assert field.add(left, right).tolist() == [[(a + b) % modulus for b in values] for a in values]
    assert field.sub(left, right).tolist() == [[(a - b) % modulus for b in values] for a in values]
    assert field.mul(left, right).tolist() == [[a * b % modulus for b in values] for a in values]
    assert field.neg(left[:, 0]).tolist() == [-a % modulus for a in values]


@pytest.mark.parametrize("modulus", MODULI)
@pytest.mark.parametrize("degree", [1, 2, 40])
def test_values_of_polynomials_are_those_of_python_integers(modulus: int, degree: int) -> None:
    field, random = FIELDS[modulus], np.random.default_rng(degree)
    largest = [[modulus - 1] * 3] * degree
    drawn = [[int(value) for value in random.integers(0, modulus, 3)] for _ in range(degree)]
    points = [point for point in (1, 2, 3, 140, 2**29 - 1) if point < modulus]
    for rows in (largest, drawn):
        got = field.values_at(np.array(rows, dtype=np.uint64), np.array(points, dtype=np.uint64))
        for line, point in zip(got.tolist(), points, strict=True):
            powers = [pow(point, degree - place, modulus) for place in range(degree)]
            assert line == [
                sum(row[column] * power for row, power in zip(rows, powers, strict=True)) % modulus
                for column in range(3)
            ]


@given(st.sampled_from(MODULI), st.data())
def test_arithmetic_is_that_of_python_integers(modulus: int, data: st.DataObject) -> None:
    field = FIELDS[modulus]
    pairs = data.draw(st.lists(st.tuples(*2 * [st.integers(0, modulus - 1)]), min_size=1, max_size=20))
    a, b = field.array(pair[0] for pair in pairs), field.array(pair[1] for pair in pairs)
    assert field.add(a, b).tolist() == [(x + y) % modulus for x, y in pairs]
    assert field.sub(a, b).tolist() == [(x - y) % modulus for x, y in pairs]
    assert field.mul(a, b).tolist() == [x * y % modulus for x, y in pairs]
    assert field.total(np.stack([a, b], axis=1)).tolist() == [
        sum(x for x, _ in pairs) % modulus,
        sum(y for _, y in pairs) % modulus,
    ]
    for x, _ in pairs:
        if x:
            assert field.inverse(x) * x % modulus == 1


def test_a_total_of_many_largest_elements_does_not_overflow() -> None:
    largest = np.full((50_000, 2), MERSENNE_61 - 1, dtype=np.uint64)
    assert FIELDS[MERSENNE_61].total(largest).tolist() == 2 * [-50_000 % MERSENNE_61]
    assert FIELDS[MERSENNE_61].total(largest[:, 0]) == -50_000 % MERSENNE_61


def test_a_total_of_nothing_is_zero() -> None:
    assert FIELDS[MERSENNE_61].total(np.zeros((0, 3), dtype=np.uint64)).tolist() == [0, 0, 0]


def test_zero_has_no_inverse() -> None:
    for zero in (0, MERSENNE_61, -MERSENNE_61):
        with pytest.raises(NumericalError, match="no inverse"):
            FIELDS[MERSENNE_61].inverse(zero)


@pytest.mark.parametrize("modulus", [-7, 0, 1, 9, 2**32, 2**32 - 1, 2**61, 2**61 - 3, 2**89 - 1])
def test_other_moduli_are_refused(modulus: int) -> None:
    with pytest.raises(EncodingError, match="only 2\\^61 - 1 and primes below 2\\^32"):
        Field(modulus)


def test_uniform_keeps_61_bits_and_draws_again_where_they_reach_the_modulus() -> None:
    asked: list[int] = []
    words = [2**64 - 1, 5, 2**61 - 1, 2**61, 2**61 - 2, (7 << 61) + 9]

    def scripted(count: int) -> bytes:
        asked.append(count)
        taken, words[:] = words[: count // 8], words[count // 8 :]
        return np.array(taken, dtype="<u8").tobytes()

    # All ones and 2^61 - 1 are p itself: refused. 2^61 is 0 after the cut, and (7 << 61) + 9 is 9.
    assert FIELDS[MERSENNE_61].uniform((2, 2), scripted).tolist() == [[5, 0], [2**61 - 2, 9]]
    assert asked == [32, 16]


def test_uniform_in_a_small_field_hits_every_element_about_equally_often() -> None:
    drawn = Field(5).uniform((50_000,), generator(3))
    counts = np.bincount(drawn.astype(np.int64), minlength=5)
    assert counts.size == 5
    # Five standard deviations of a binomial count.
    assert np.all(np.abs(counts - 10_000) < 5 * np.sqrt(50_000 * 0.2 * 0.8))


def test_uniform_of_no_elements() -> None:
    assert FIELDS[MERSENNE_61].uniform((0, 3), generator(1)).shape == (0, 3)


@pytest.mark.parametrize("value", [-1, 65537, 2**70])
def test_integers_outside_the_field_are_refused(value: int) -> None:
    with pytest.raises(EncodingError, match=f"element 1 is {value}"):
        FIELDS[65537].array([0, value])


def test_a_vector_is_text_of_little_endian_words() -> None:
    field = FIELDS[MERSENNE_61]
    vector = field.array([1, 2**61 - 2])
    words = bytes([1, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F])
    assert field.to_bytes(vector) == words
    assert field.to_text(vector) == base64.b64encode(words).decode()


@given(st.lists(st.integers(0, MERSENNE_61 - 1), max_size=40))
def test_text_and_bytes_come_back(values: list[int]) -> None:
    field = FIELDS[MERSENNE_61]
    vector = field.array(values)
    back = field.from_text(field.to_text(vector), len(values))
    assert back.tolist() == values
    assert back.dtype == np.uint64
    assert field.to_text(back) == field.to_text(vector)
    assert field.from_bytes(field.to_bytes(vector), len(values)).tolist() == values


@pytest.mark.parametrize(
    ("raw", "length", "reason"),
    [
        (bytes(15), 2, "15 bytes are not 2 words"),
        (bytes(24), 2, "24 bytes are not 2 words"),
        (bytes(8) + (2**61 - 1).to_bytes(8, "little"), 2, "element 1 reaches the modulus"),
        (b"\xff" * 8, 1, "element 0 reaches the modulus"),
    ],
)
def test_text_that_is_no_vector_is_refused(raw: bytes, length: int, reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        FIELDS[MERSENNE_61].from_text(base64.b64encode(raw).decode(), length)


def test_text_that_is_not_base64_is_refused() -> None:
    with pytest.raises(EncodingError, match="not base64"):
        FIELDS[MERSENNE_61].from_text("AAAAAAAAAA!=", 1)


@pytest.mark.parametrize(
    "vector",
    [
        np.array([MERSENNE_61], dtype=np.uint64),
        np.zeros((1, 1), dtype=np.uint64),
        np.zeros(1, dtype=np.int64).view(np.int64),
    ],
)
def test_what_is_no_vector_of_elements_is_not_written(vector: Elements) -> None:
    with pytest.raises(EncodingError):
        FIELDS[MERSENNE_61].to_text(vector)
