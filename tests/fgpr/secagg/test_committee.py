import hashlib
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from fgpr.errors import CommitteeError
from fgpr.secagg import committee
from fgpr.secagg.committee import INVITED, SEAT, Committee
from fgpr.secagg.planning import AggregationRules

NONCE = bytes(range(32))
NAMES = tuple(f"engine-{number:03d}" for number in range(300))


def numbers(seats: int, invited: int | None = None, *, delta: float = 0.15, min_cohort: int | None = None) -> Committee:
    clients = seats if invited is None else invited
    return committee.size(
        seats=seats,
        servants=seats,
        invited=clients,
        admitted=clients,
        gamma=0.2,
        delta=delta,
        min_cohort=min_cohort,
    )


@pytest.mark.parametrize(("c", "x", "t"), [(3, 1, 3), (4, 1, 4), (5, 1, 4), (10, 2, 8), (20, 4, 15), (60, 12, 45)])
def test_seats_corrupt_and_threshold_where_everybody_serves(c: int, x: int, t: int) -> None:
    found = numbers(c)
    assert (found.seats, found.corrupt_seats, found.threshold) == (c, x, t)


@pytest.mark.parametrize(("population", "x", "t"), [(1_000, 61, 114), (10_000, 65, 116)])
def test_seats_corrupt_and_threshold_of_140_drawn_seats(population: int, x: int, t: int) -> None:
    found = committee.size(
        seats=140, servants=population, invited=population, admitted=population, gamma=0.2, delta=0.15
    )
    assert (found.corrupt_seats, found.threshold, found.spare) == (x, t, 8)
    assert found.corrupt_invited == population // 5


def by_default(clients: int) -> Committee:
    """The numbers that a federation of so many clients has without a word in its rules."""
    rules = AggregationRules()
    return committee.size(
        seats=min(clients, rules.committee_cap),
        servants=clients,
        invited=clients,
        admitted=clients,
        gamma=rules.gamma,
        delta=rules.delta,
    )


def test_the_page_s_table_of_committees_is_what_is_computed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")
    _, _, after = page.partition("| seats of | c | x | t | can miss |\n")
    rows = [line.strip("| ").split(" | ") for line in after.split("\n\n")[0].splitlines()[1:]]
    assert len(rows) == 12
    for clients, *told in rows:
        found = by_default(int(clients.replace(",", "")))
        missable = found.seats - found.threshold
        assert tuple(map(int, told)) == (found.seats, found.corrupt_seats, found.threshold, missable)


@pytest.mark.parametrize("clients", [*range(3, 21), 60, 100, 140, 141, 200, 300, 500, 1_000, 2_000, 5_000, 10_000])
def test_a_federation_of_any_size_can_miss_what_delta_asks_for_by_default(clients: int) -> None:
    found = by_default(clients)
    assert found.seats - found.threshold >= math.floor(0.15 * found.seats)


@pytest.mark.parametrize(("clients", "min_cohort"), [(4, 3), (20, 6), (60, 14)])
def test_the_smallest_cohort_is_two_honest_clients(clients: int, min_cohort: int) -> None:
    assert numbers(clients).min_cohort == min_cohort
    assert numbers(clients).corrupt_invited == min_cohort - 2


@pytest.mark.parametrize(("seats", "spare"), [(3, 1), (19, 1), (20, 2), (60, 4)])
def test_spare_openings(seats: int, spare: int) -> None:
    assert numbers(seats).spare == spare


def test_shares_count_as_the_decimals_that_are_written() -> None:
    assert math.floor(0.29 * 100) == 28
    assert committee.max_corrupt(100, 100, 0.29) == 29
    assert committee.max_corrupt(100, 100, 1e-05) == 1


@pytest.mark.parametrize("gamma", [0.2, 0.1, 0.33])
@pytest.mark.parametrize(
    ("count", "population"), [(140, 1_000), (140, 10_000), (140, 141), (5, 7), (1, 50), (999, 1_000)]
)
def test_drawn_corrupt_are_the_smallest_number_with_a_tail_of_2_to_the_minus_40(
    count: int, population: int, gamma: float
) -> None:
    x = committee.max_corrupt(count, population, gamma)
    marked = max(1, round(gamma * population * 100) // 100)
    assert committee.failure_probability(count, population, gamma, x) == pytest.approx(
        hypergeom.sf(x, population, marked, count), rel=1e-6, abs=1e-15
    )
    assert committee.failure_probability(count, population, gamma, x) <= 2**-40
    assert x == 1 or committee.failure_probability(count, population, gamma, x - 1) > 2**-40


def test_a_small_tail_is_exact() -> None:
    # 3 drawn of 10 with 2 corrupt: both are drawn in C(8, 1) of C(10, 3) = 120 ways.
    assert committee.failure_probability(3, 10, 0.2, 1) == 8 / 120
    assert committee.failure_probability(3, 10, 0.2, 2) == 0
    assert committee.failure_probability(3, 10, 0.2, 0) == pytest.approx(1 - 56 / 120, rel=1e-15)
    assert committee.failure_probability(10, 10, 0.2, 2) == 0
    assert committee.failure_probability(10, 10, 0.2, 1) == 1


@given(st.integers(1, 200), st.data())
def test_t_is_the_least_that_takes_more_than_two_thirds_of_the_honest_members(seats: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(1, seats))
    t = committee.threshold(seats, x)
    assert 3 * (t - x) > 2 * (seats - x) >= 3 * (t - 1 - x)
    # No two cohorts are opened: honest members answer once, corrupt ones twice.
    assert (seats - x) + 2 * x < 2 * t


def test_three_seats_may_miss_nobody() -> None:
    assert numbers(3).threshold == 3


@pytest.mark.parametrize(("seats", "delta"), [(3, 0.34), (1, 0.25), (4, 0.25), (60, 0.27)])
def test_a_committee_that_can_miss_too_few_is_refused_with_the_numbers(seats: int, delta: float) -> None:
    with pytest.raises(CommitteeError, match=rf"{seats} seats of {seats} .* delta {delta} asks for"):
        numbers(seats, 10, delta=delta)


def test_delta_is_exact_at_its_limit() -> None:
    # 100 seats, 20 corrupt, threshold 74: 26 may be missed.
    assert numbers(100, delta=0.26).threshold == 74
    with pytest.raises(CommitteeError, match=r"can miss 26 members; delta 0\.27 asks for 27"):
        numbers(100, delta=0.27)


def test_a_cohort_with_fewer_than_two_honest_clients_is_refused() -> None:
    assert numbers(20, min_cohort=6).min_cohort == 6
    assert numbers(20, min_cohort=20).min_cohort == 20
    with pytest.raises(CommitteeError, match=r"min_cohort 5 with 4 corrupt of 20 invited .* at least 6"):
        numbers(20, min_cohort=5)


@pytest.mark.parametrize(("invited", "min_cohort"), [(2, None), (20, 21)])
def test_a_cohort_that_nobody_can_fill_is_refused(invited: int, min_cohort: int | None) -> None:
    with pytest.raises(CommitteeError, match=f"more than the {invited} invited clients"):
        numbers(20, invited, min_cohort=min_cohort)


@pytest.mark.parametrize(("count", "population"), [(0, 5), (-1, 5), (6, 5), (0, 0)])
def test_counts_that_make_no_sense_are_refused(count: int, population: int) -> None:
    with pytest.raises(CommitteeError, match=f"{count} of {population} clients"):
        committee.max_corrupt(count, population, 0.2)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, math.nan, math.inf])
def test_shares_outside_0_to_1_are_refused(share: float) -> None:
    with pytest.raises(CommitteeError, match="gamma is"):
        committee.max_corrupt(3, 3, share)
    with pytest.raises(CommitteeError, match="delta is"):
        numbers(20, delta=share)


def test_all_are_drawn_where_they_are_few_in_order_of_id() -> None:
    assert committee.draw(["b", "c", "a"], 3, NONCE, 0, SEAT) == ("a", "b", "c")
    assert committee.draw([], 3, NONCE, 0, SEAT) == ()


def test_the_drawn_are_those_with_the_least_hash() -> None:
    def rank(name: str) -> bytes:
        # RFC 8785 by hand: keys sorted, no spaces. 2053 mod 1024 = 5.
        text = f'{{"client":"{name}","nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","theta_version":5}}'
        return hashlib.sha256(b"fgpr-v1/seat\x00" + text.encode()).digest()

    expected = tuple(sorted(sorted(NAMES, key=rank)[:140]))
    assert committee.draw(NAMES, 140, NONCE, 2053, SEAT) == expected
    assert committee.draw(NAMES[::-1], 140, NONCE, 5, SEAT) == expected


def test_a_draw_depends_on_nonce_theta_and_label() -> None:
    drawn = {
        committee.draw(NAMES, 140, NONCE, 1, SEAT),
        committee.draw(NAMES, 140, NONCE, 1, INVITED),
        committee.draw(NAMES, 140, NONCE, 2, SEAT),
        committee.draw(NAMES, 140, NONCE[::-1], 1, SEAT),
    }
    assert len(drawn) == 4
    assert all(len(seats) == 140 == len(set(seats)) for seats in drawn)


def test_draws_that_make_no_sense_are_refused() -> None:
    with pytest.raises(CommitteeError, match="twice"):
        committee.draw(["a", "b", "a"], 2, NONCE, 0, SEAT)
    with pytest.raises(CommitteeError, match="draw 0 of 3"):
        committee.draw(["a", "b", "c"], 0, NONCE, 0, SEAT)


@pytest.mark.parametrize(
    ("invited", "corrupt", "groups"), [(20, 4, 3), (60, 12, 4), (100, 20, 5), (200, 40, 10), (1_000, 200, 41)]
)
def test_corrupt_clients_of_one_group_are_the_hypergeometric_tail_s(invited: int, corrupt: int, groups: int) -> None:
    found = committee.max_corrupt_in_group(invited, corrupt, groups)
    size = math.ceil(invited / groups)
    assert groups * hypergeom.sf(found, invited, corrupt, size) <= 2**-40
    assert found == min(size, corrupt) or groups * hypergeom.sf(found - 1, invited, corrupt, size) > 2**-40
    assert committee.max_corrupt_in_group(invited, corrupt, 1) == corrupt


def test_at_least_one_client_of_a_group_counts_as_corrupt() -> None:
    assert committee.max_corrupt_in_group(9, 1, 3) == 1
    assert committee.max_corrupt_in_group(9, 0, 3) == 1


def largest(clients: int, gamma: float) -> tuple[int, Committee]:
    """The most groups that so many clients can be dealt to, and the numbers then."""
    fitting: list[tuple[int, Committee]] = []
    for groups in range(3, clients // 3 + 1):
        try:
            found = committee.size(
                seats=clients,
                servants=clients,
                invited=clients,
                admitted=clients,
                gamma=gamma,
                delta=0.15,
                groups=groups,
            )
        except CommitteeError:
            continue
        fitting.append((groups, found))
    return fitting[-1]


def test_the_page_s_table_of_groups_is_what_is_computed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")
    _, _, after = page.partition("| invited | gamma | K |")
    rows = [line.strip("| ").split(" | ") for line in after.split("\n\n")[0].splitlines()[2:]]
    assert len(rows) == 6
    for row in rows:
        invited, gamma, *told = row
        groups, found = largest(int(invited.replace(",", "")), float(gamma))
        expected = (found.corrupt_invited, found.corrupt_group, found.min_cohort, groups, (groups - 1) // 2)
        assert tuple(map(int, told)) == expected


def test_a_group_too_small_to_hide_in_is_refused_with_the_numbers() -> None:
    everybody = {"seats": 60, "servants": 60, "invited": 60, "admitted": 60}
    with pytest.raises(
        CommitteeError, match=r"dealt to 5 groups are 12 in the smallest, and min_cohort is 14 with 12 corrupt"
    ):
        committee.size(**everybody, gamma=0.2, delta=0.15, groups=5)
    with pytest.raises(CommitteeError, match="15 in the smallest, and min_cohort is 16"):
        committee.size(**everybody, gamma=0.2, delta=0.15, groups=4, min_cohort=16)
    with pytest.raises(CommitteeError, match="12 corrupt in one of 4 groups of 60 invited"):
        committee.size(**everybody, gamma=0.2, delta=0.15, groups=4, min_cohort=13)
