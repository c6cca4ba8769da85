import io
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgpr.errors import EncodingError, LocalProtocolError, OpeningsContradict, SumRefused
from fgpr.secagg import shamir
from fgpr.secagg.field import MERSENNE_61, Elements, Field
from support import malice

FIELD = Field(MERSENNE_61)
SMALL = Field(2**31 - 1)
# secret 1234 by the polynomial 1234 + 166 X + 94 X^2 modulo 2^31 - 1
KNOWN = {1: 1494, 2: 1942, 3: 2578, 4: 3402, 5: 4414}


def lagrange_at_zero(points: Sequence[int], values: Sequence[int], p: int) -> int:
    total = 0
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        top = bottom = 1
        for j, other in enumerate(points):
            if j != i:
                top, bottom = top * -other % p, bottom * (x - other) % p
        total += y * top * pow(bottom, -1, p)
    return total % p


def known(points: Sequence[int], wrong: dict[int, int] | None = None) -> Elements:
    return SMALL.array((wrong or {}).get(point, KNOWN[point]) for point in points)[:, None]


def sharing(field: Field, threshold: int, seats: int, length: int, seed: int) -> tuple[Elements, Elements]:
    random_bytes = np.random.default_rng(seed).bytes
    values = field.uniform((length,), random_bytes)
    return values, shamir.share(field, values, threshold, seats, random_bytes)


def test_three_known_shares_open_the_known_secret() -> None:
    for points in combinations(KNOWN, 3):
        opened = shamir.interpolate(SMALL, points, known(points), 3)
        assert opened.values.tolist() == [1234]
        assert opened.disputed == ()
        assert opened.spare == 0


def test_two_shares_are_refused_and_not_answered_with_1046() -> None:
    assert lagrange_at_zero([1, 2], [1494, 1942], SMALL.modulus) == 1046
    with pytest.raises(LocalProtocolError, match="2 shares of 2 different seats: at least 3"):
        shamir.interpolate(SMALL, [1, 2], known([1, 2]), 3)


@pytest.mark.parametrize("points", [[1, 1, 2], [1, 2, 3, 3]])
def test_a_repeated_share_is_refused(points: list[int]) -> None:
    with pytest.raises(LocalProtocolError, match=f"{len(points)} shares of {len(set(points))} different seats"):
        shamir.interpolate(SMALL, points, known(points), 3)


@pytest.mark.parametrize("liar", KNOWN)
def test_one_corrupted_share_of_five_is_found_and_mended(liar: int) -> None:
    points = [5, 3, 1, 2, 4]
    opened = shamir.interpolate(SMALL, points, known(points, {liar: 999}), 3)
    assert opened.values.tolist() == [1234]
    assert opened.disputed == (liar,)
    assert opened.spare == 2


def test_one_corrupted_share_of_four_is_found_and_not_mended() -> None:
    points = [1, 2, 3, 4]
    with pytest.raises(SumRefused, match="1 to spare mend 0 wrong ones"):
        shamir.interpolate(SMALL, points, known(points, {2: 1943}), 3)


def test_one_corrupted_share_is_not_mended_where_more_may_come() -> None:
    points = [5, 3, 1, 2, 4]
    with pytest.raises(OpeningsContradict, match=r"5 shares at threshold 3 contradict .* before any is left out"):
        shamir.interpolate(SMALL, points, known(points, {2: 999}), 3, mend=False)
    assert shamir.interpolate(SMALL, points, known(points), 3, mend=False).values.tolist() == [1234]


@pytest.mark.parametrize(("threshold", "seats", "liars"), [(37, 41, 3), (37, 60, 13), (13, 15, 2), (101, 109, 5)])
def test_liars_beyond_the_radius_of_unique_decoding_open_another_value(threshold: int, seats: int, liars: int) -> None:
    # Two words of the code differ at s + 1 places: all but floor(s / 2) of these lie, and the others look wrong.
    values, shares = sharing(FIELD, threshold, seats, 1, seed=9)
    spare = seats - threshold
    assert liars == spare + 1 - spare // 2
    added = malice.framing(range(1, seats + 1), range(1, spare + 2), 777)
    for seat in range(1, liars + 1):
        shares[seat - 1] = FIELD.add(shares[seat - 1], FIELD.array([added[seat]]))
    opened = shamir.interpolate(FIELD, range(1, seats + 1), shares, threshold)
    assert opened.values.tolist() == [(int(values[0]) + 777) % MERSENNE_61]
    assert opened.disputed == tuple(range(liars + 1, spare + 2))


def test_shares_lie_on_one_polynomial_of_the_right_degree_with_every_subset_opening() -> None:
    values, shares = sharing(SMALL, 3, 6, 4, seed=1)
    assert shares.shape == (6, 4)
    for points in combinations(range(1, 7), 3):
        rows = shares[[point - 1 for point in points]]
        expected = [lagrange_at_zero(points, rows[:, column].tolist(), SMALL.modulus) for column in range(4)]
        assert expected == values.tolist()
        assert shamir.interpolate(SMALL, points, rows, 3).values.tolist() == expected
    two = [lagrange_at_zero([1, 2], shares[:2, column].tolist(), SMALL.modulus) for column in range(4)]
    assert two != values.tolist()


def test_fewer_shares_than_the_threshold_do_not_depend_on_the_secret() -> None:
    # All polynomials of degree 1 modulo 5: whatever the secret, each share takes each value equally often.
    field = Field(5)
    seen: dict[int, list[int]] = {}
    for secret in range(5):
        for slope in range(5):
            words = io.BytesIO(slope.to_bytes(8, "little"))
            shares = shamir.share(field, field.array([secret]), 2, 3, words.read)
            seen.setdefault(secret, []).append(int(shares[1, 0]))
    assert all(sorted(values) == [0, 1, 2, 3, 4] for values in seen.values())


def test_a_sum_of_sharings_opens_to_the_sum() -> None:
    values, shares = zip(*(sharing(FIELD, 13, 20, 33, seed) for seed in range(20)), strict=True)
    total = FIELD.total(np.stack(shares))
    opened = shamir.interpolate(FIELD, range(1, 21), total, 13)
    assert opened.values.tolist() == [sum(column) % MERSENNE_61 for column in np.stack(values).T.tolist()]
    assert opened.spare == 7


def test_the_largest_drawn_committee_mends_18_liars_at_different_numbers() -> None:
    values, shares = sharing(FIELD, 103, 140, 33, seed=5)
    liars = np.random.default_rng(6).choice(140, 18, replace=False)
    for number, liar in enumerate(liars):
        shares[liar, number] = FIELD.add(shares[liar, number, None], FIELD.array([1 + number]))[0]
    opened = shamir.interpolate(FIELD, range(1, 141), shares, 103)
    assert opened.values.tolist() == values.tolist()
    assert opened.disputed == tuple(sorted(int(liar) + 1 for liar in liars))


def test_one_liar_more_than_can_be_mended_is_refused() -> None:
    _, shares = sharing(FIELD, 37, 60, 33, seed=7)
    random_bytes = np.random.default_rng(8).bytes
    for together in (True, False):
        bad = shares.copy()
        for number in range(12):
            if together:
                bad[number] = FIELD.uniform((33,), random_bytes)
            else:
                bad[number, number] = FIELD.uniform((1,), random_bytes)[0]
        with pytest.raises(SumRefused, match=r"60 shares at threshold 37 .* 23 to spare mend 11 wrong ones"):
            shamir.interpolate(FIELD, range(1, 61), bad, 37)


@settings(deadline=None)
@given(st.data())
def test_any_errors_within_reach_are_mended(data: st.DataObject) -> None:
    field = data.draw(st.sampled_from([FIELD, SMALL, Field(101)]))
    seats = data.draw(st.integers(1, 16))
    threshold = data.draw(st.integers(1, seats))
    length = data.draw(st.integers(1, 4))
    values, shares = sharing(field, threshold, seats, length, data.draw(st.integers(0, 2**32)))
    present = data.draw(
        st.lists(st.integers(1, seats), min_size=threshold, max_size=seats, unique=True), label="present"
    )
    spare = len(present) - threshold
    liars = data.draw(st.lists(st.sampled_from(present), max_size=spare // 2, unique=True), label="liars")
    for liar in liars:
        numbers = data.draw(st.lists(st.integers(0, length - 1), min_size=1, unique=True))
        for number in numbers:
            offset = data.draw(st.integers(1, field.modulus - 1))
            shares[liar - 1, number] = (int(shares[liar - 1, number]) + offset) % field.modulus
    opened = shamir.interpolate(field, present, shares[[point - 1 for point in present]], threshold)
    assert opened.values.tolist() == values.tolist()
    assert opened.disputed == tuple(sorted(liars))
    assert opened.spare == spare


@settings(deadline=None)
@given(st.data())
def test_up_to_s_errors_are_never_silent(data: st.DataObject) -> None:
    # s wrong shares cannot reach another word of the code: what comes out is refused or disputed, never unremarked.
    seats = data.draw(st.integers(2, 10))
    threshold = data.draw(st.integers(1, seats - 1))
    _, shares = sharing(SMALL, threshold, seats, 2, data.draw(st.integers(0, 2**32)))
    count = data.draw(st.integers(1, seats - threshold))
    for liar in range(count):
        shares[liar, liar % 2] = (int(shares[liar, liar % 2]) + 1 + liar) % SMALL.modulus
    try:
        opened = shamir.interpolate(SMALL, range(1, seats + 1), shares, threshold)
    except SumRefused:
        return
    assert opened.disputed


def test_points_need_not_be_seats() -> None:
    points = [7, 2**31 - 2, 12345]
    shares = SMALL.array((1234 + 166 * x + 94 * x * x) % SMALL.modulus for x in points)[:, None]
    assert shamir.interpolate(SMALL, points, shares, 3).values.tolist() == [1234]


@pytest.mark.parametrize(("threshold", "seats"), [(0, 3), (4, 3), (-1, 3), (3, 101)])
def test_sharing_that_cannot_work_is_refused(threshold: int, seats: int) -> None:
    field = Field(101)
    with pytest.raises(LocalProtocolError, match=f"threshold {threshold} of {seats} seats"):
        shamir.share(field, field.array([1]), threshold, seats, bytes)


@pytest.mark.parametrize("point", [0, -1, 2**31 - 1])
def test_points_outside_the_field_are_refused(point: int) -> None:
    with pytest.raises(EncodingError, match="points of shares"):
        shamir.interpolate(SMALL, [1, 2, point], known([1, 2, 3]), 3)


@pytest.mark.parametrize(
    "shares",
    [
        np.zeros((2, 1), dtype=np.uint64),
        np.zeros(3, dtype=np.uint64),
        np.full((3, 1), 2**31 - 1, dtype=np.uint64),
        np.zeros((3, 1), dtype=np.uint64).view(np.int64).astype(np.int64),
    ],
)
def test_shares_of_the_wrong_form_are_refused(shares: Elements) -> None:
    with pytest.raises(EncodingError):
        shamir.interpolate(SMALL, [1, 2, 3], shares, 3)


def test_opened_values_do_not_show_in_repr() -> None:
    assert "1234" not in repr(shamir.interpolate(SMALL, [1, 2, 3], known([1, 2, 3]), 3))
