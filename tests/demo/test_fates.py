from collections import Counter
from itertools import pairwise

import pytest

from demo.fates import Fate, Fates, draw

NAMES = [f"engine-{number:03d}" for number in range(10)]


def by_round(fates: dict[str, Fates], number: int) -> dict[str, Fate]:
    return {name: own[number] for name, own in fates.items() if number in own}


@pytest.mark.parametrize(
    ("count", "fraction", "killed"),
    # Halves go up, as one rounds by hand: 0.25 * 10 = 2.5 is 3, and not the 2 of Python's round().
    [(10, 0.2, 2), (10, 0.25, 3), (10, 0.24, 2), (4, 0.1, 0), (5, 0.1, 1), (60, 0.2, 12), (10, 0.0, 0)],
)
def test_a_rounded_share_is_killed_in_every_round(count: int, fraction: float, killed: int) -> None:
    names = [f"engine-{number:03d}" for number in range(count)]
    fates = draw(names, fraction, 12, seed=0)
    assert list(fates) == names
    assert [len(by_round(fates, number)) for number in range(1, 13)] == [killed] * 12
    assert not by_round(fates, 0)
    assert not by_round(fates, 13)


def test_the_steps_come_in_turn() -> None:
    fates = draw(NAMES, 0.3, 6, seed=0)
    for number in range(1, 7):
        assert sorted(by_round(fates, number).values()) == sorted(Fate)
    # With one agent a round the three steps take three rounds.
    single = draw(NAMES, 0.1, 6, seed=0)
    dealt = [next(iter(by_round(single, number).values())) for number in range(1, 7)]
    assert dealt == [*Fate, *Fate]


def test_others_die_each_round_until_all_had_their_turn() -> None:
    fates = draw(NAMES, 0.2, 10, seed=0)
    dying = [set(by_round(fates, number)) for number in range(1, 11)]
    assert all(not before & after for before, after in pairwise(dying))
    assert set().union(*dying[:5]) == set(NAMES)
    assert Counter(len(own) for own in fates.values()) == {2: 10}


def test_the_seed_decides_who_comes_first() -> None:
    assert draw(NAMES, 0.2, 5, seed=1) == draw(NAMES, 0.2, 5, seed=1)
    assert draw(NAMES, 0.2, 5, seed=1) != draw(NAMES, 0.2, 5, seed=2)
