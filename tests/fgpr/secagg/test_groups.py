import hashlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from fgpr import canonical
from fgpr.errors import CommitteeError, EncodingError, LocalProtocolError
from fgpr.secagg.groups import check_groups, combine_averages, deal, fewest_groups

NONCE = bytes(range(32))
NAMES = tuple(f"client-{number:02d}" for number in range(20))


def test_the_deal_follows_from_hashes_of_json_alone() -> None:
    def rank(name: str) -> bytes:
        told = {"client": name, "nonce": canonical.to_text(NONCE), "theta_version": 5}
        encoded = json.dumps(told, separators=(",", ":"), sort_keys=True).encode()
        return hashlib.sha256(b"fgpr-v1/group\0" + encoded).digest()

    ordered = sorted(NAMES, key=rank)
    expected = tuple(1 + ordered.index(name) % 3 for name in NAMES)
    assert deal(NAMES, 3, NONCE, 5) == expected
    # The versions of theta repeat the deals of the first 1,024.
    assert deal(NAMES, 3, NONCE, 5 + 1024) == expected
    assert deal(NAMES, 3, NONCE, 6) != expected
    assert deal(NAMES, 3, bytes(32), 5) != expected


@given(st.integers(3, 9), st.integers(9, 40), st.binary(min_size=32, max_size=32))
def test_sizes_differ_by_one_and_nobody_s_place_depends_on_the_order_of_the_list(
    groups: int, clients: int, nonce: bytes
) -> None:
    names = [f"c{number}" for number in range(clients)]
    dealt = dict(zip(names, deal(names, groups, nonce, 0), strict=True))
    sizes = [list(dealt.values()).count(number) for number in range(1, groups + 1)]
    assert sum(sizes) == clients
    assert max(sizes) - min(sizes) <= 1
    assert dealt == dict(zip(names[::-1], deal(names[::-1], groups, nonce, 0), strict=True))


def test_one_group_is_no_deal_and_too_few_clients_are_none_either() -> None:
    assert deal(NAMES, 1, NONCE, 0) == ()
    with pytest.raises(CommitteeError, match="2 invited clients cannot be dealt to 3"):
        deal(NAMES[:2], 3, NONCE, 0)


@pytest.mark.parametrize(("groups", "combine"), [(1, "mean"), (3, "median"), (7, "trimmed-mean")])
def test_rules_that_belong_together(groups: int, combine: Any) -> None:
    check_groups(groups, combine)


@pytest.mark.parametrize(
    ("groups", "combine", "reason"),
    [(1, "median", "needs groups"), (3, "mean", "3 groups"), (2, "median", "2 groups"), (2, "mean", "2 groups")],
)
def test_rules_that_do_not(groups: int, combine: Any, reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        check_groups(groups, combine)


def test_more_than_half_of_the_groups_and_three_at_least_have_to_be_counted() -> None:
    assert [fewest_groups(groups) for groups in (1, 3, 4, 5, 6, 7, 8, 12)] == [1, 3, 3, 3, 4, 4, 5, 7]


VALUES = st.floats(-9, 9)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=9), st.randoms())
def test_the_median_is_numpy_s_in_any_order(rows: list[tuple[float, float]], draws: Any) -> None:
    averages = [np.array(row) for row in rows]
    found = combine_averages(averages, "median")
    np.testing.assert_allclose(found, np.median(averages, axis=0), atol=1e-15)
    draws.shuffle(averages)
    assert combine_averages(averages, "median").tobytes() == found.tobytes()


@pytest.mark.parametrize("count", [4, 5, 6, 7, 8, 11, 12, 13])
def test_the_trimmed_mean_is_scipy_s_with_a_quarter_cut(count: int) -> None:
    averages = np.random.default_rng(count).normal(size=(count, 3))
    np.testing.assert_allclose(
        combine_averages(list(averages), "trimmed-mean"), trim_mean(averages, 0.25, axis=0), atol=1e-14
    )


def test_three_are_trimmed_to_the_one_in_the_middle_and_two_are_averaged() -> None:
    three = [np.array([1.0]), np.array([9.0]), np.array([2.0])]
    assert combine_averages(three, "trimmed-mean").tolist() == [2.0]
    for combine in ("median", "trimmed-mean"):
        assert combine_averages(three[:2], combine).tolist() == [5.0]  # type: ignore[arg-type]
        assert combine_averages(three[:1], combine).tolist() == [1.0]  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match="no group"):
        combine_averages([], "median")


@given(st.integers(3, 11), st.data())
def test_fewer_liars_than_half_of_the_groups_stay_inside_what_the_honest_sent(groups: int, draws: Any) -> None:
    honest = draws.draw(st.lists(VALUES, min_size=groups // 2 + 1, max_size=groups))
    lies = draws.draw(st.lists(st.floats(-1e6, 1e6), min_size=groups - len(honest), max_size=groups - len(honest)))
    (found,) = combine_averages([np.array([value]) for value in [*honest, *lies]], "median")
    assert min(honest) <= found <= max(honest)


def test_groups_and_noise_exclude_each_other() -> None:
    check_groups(1, "mean", noised=True)
    with pytest.raises(EncodingError, match="3 groups under differential privacy"):
        check_groups(3, "median", noised=True)
