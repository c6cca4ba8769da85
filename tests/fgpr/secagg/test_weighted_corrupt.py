"""K where the invited are drawn by weight: a bound that holds for whomever the adversary corrupts."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from fgpr.errors import CommitteeError
from fgpr.secagg import committee, weighted_draw
from fgpr.secagg.weighted_draw import max_corrupt

GAMMA = 0.2
rng = random.Random(11)
VECTORS = {
    "equal": (50,) * 60,
    "even": tuple(rng.randint(20, 600) for _ in range(60)),
    "heavy tail": tuple(min(2_000, int(20 * rng.paretovariate(1.2))) for _ in range(60)),
    "one giant": (3_000, *(20,) * 59),
    "two kinds": (*(300,) * 20, *(10,) * 40),
}


def corrupt_sets(weights: tuple[int, ...]) -> list[np.ndarray]:
    """Whom an adversary could take for gamma of the weight: the light, the heavy, a few at random."""
    limit = Fraction(str(GAMMA)) * sum(weights)
    orders = [
        sorted(range(len(weights)), key=lambda k: weights[k]),
        sorted(range(len(weights)), key=lambda k: -weights[k]),
    ]
    orders += [random.Random(seed).sample(range(len(weights)), len(weights)) for seed in range(4)]
    sets = []
    for order in orders:
        taken, together = [], 0
        for client in order:
            if together + weights[client] <= limit:
                taken.append(client)
                together += weights[client]
        sets.append(np.isin(np.arange(len(weights)), taken))
    return sets


def races(weights: tuple[int, ...], count: int, times: int) -> np.ndarray:
    """The drawn of many exponential races, shape (times, count)."""
    keys = np.random.default_rng(5).exponential(size=(times, len(weights))) / np.array(weights)
    return np.argpartition(keys, count - 1, axis=1)[:, :count]


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("count", [10, 20, 40])
def test_no_set_of_that_weight_ever_brings_more(name: str, count: int) -> None:
    weights = VECTORS[name]
    bound, drawn = max_corrupt(count, weights, GAMMA), races(weights, count, 20_000)
    for corrupt in corrupt_sets(weights):
        assert corrupt[drawn].sum(axis=1).max() <= bound


@pytest.mark.parametrize("bits", [3, 6])
@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("count", [10, 20, 40])
def test_the_tail_is_what_it_says_where_it_can_be_seen(
    name: str, count: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 2^-40 cannot be simulated: the same bound at 2^-3 and 2^-6 can.
    monkeypatch.setattr(weighted_draw, "FAILURE_BITS", bits)
    weights = VECTORS[name]
    bound, drawn = max_corrupt.__wrapped__(count, weights, GAMMA), races(weights, count, 20_000)
    for corrupt in corrupt_sets(weights):
        assert np.mean(corrupt[drawn].sum(axis=1) > bound) <= 2.0**-bits


def tail(weights: tuple[int, ...], corrupt: frozenset[int], count: int, above: int) -> Fraction:
    """Probability, exactly, that more than `above` of `count` drawn are corrupt: over all orders of all draws."""

    def more(drawn: frozenset[int], left: int, needed: int) -> Fraction:
        if needed <= 0:
            return Fraction(1)
        if needed > left:
            return Fraction(0)
        rest = [client for client in range(len(weights)) if client not in drawn]
        whole = sum(weights[client] for client in rest)
        return sum(
            (
                Fraction(weights[client], whole) * more(drawn | {client}, left - 1, needed - (client in corrupt))
                for client in rest
            ),
            Fraction(0),
        )

    return more(frozenset(), count, above + 1)


@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 2, 3, 5, 9), (1, 1, 1, 1, 4, 4, 20)])
def test_every_set_of_a_small_federation_exactly(weights: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    bits, count, gamma = 4, 3, 0.45
    monkeypatch.setattr(weighted_draw, "FAILURE_BITS", bits)
    bound, limit = max_corrupt.__wrapped__(count, weights, gamma), Fraction("0.45") * sum(weights)
    for size in range(1, len(weights)):
        for corrupt in itertools.combinations(range(len(weights)), size):
            if sum(weights[client] for client in corrupt) <= limit:
                assert tail(weights, frozenset(corrupt), count, bound) <= Fraction(1, 2**bits)


@pytest.mark.parametrize("count", [5, 20, 60, 200])
def test_the_smallest_number_with_a_binomial_tail_of_2_to_the_minus_40(count: int) -> None:
    weights = tuple(random.Random(count).randint(100, 200) for _ in range(1_000))
    left, chances = sum(weights), []
    for heaviest in sorted(weights, reverse=True)[:count]:
        chances.append(GAMMA * sum(weights) / left)
        left -= heaviest
    mean = float(np.mean(chances))
    found = max_corrupt(count, weights, GAMMA)
    assert binom.sf(found, count, mean) <= 2.0**-40 * (1 + 1e-6)
    assert found == count or binom.sf(found - 1, count, mean) > 2.0**-40


def test_equal_weights_come_near_to_heads() -> None:
    assert (max_corrupt(60, (7,) * 1_000, 0.2), committee.max_corrupt(60, 1_000, 0.2)) == (37, 36)
    assert max_corrupt(140, (7,) * 10_000, 0.2) == committee.max_corrupt(140, 10_000, 0.2) == 65


def test_where_nobody_is_drawn_as_many_as_fit_into_the_share() -> None:
    assert max_corrupt(60, (7,) * 60, 0.2) == committee.max_corrupt(60, 60, 0.2) == 12
    # 0.2 * 100 = 20: 1 + 4 + 5 + 10 and no more.
    assert max_corrupt(6, (1, 4, 5, 10, 30, 50), 0.2) == 4
    assert max_corrupt(6, (1, 4, 5, 11, 30, 49), 0.2) == 3


def test_one_client_may_always_be_corrupt() -> None:
    assert max_corrupt(3, (10,) * 9, 0.0) == 1
    assert max_corrupt(3, (10,) * 9, 0.1) == 1
    assert max_corrupt(1, (5,), 0.2) == 1


def test_never_more_than_fit_into_the_share() -> None:
    # The tail alone would allow all of the drawn.
    assert max_corrupt(20, (40,) * 25, 0.2) == 5


def test_a_giant_leaves_no_safe_bound() -> None:
    # Once the giant is drawn, gamma of the whole weight outweighs the rest.
    assert max_corrupt(10, (10_000, *(10,) * 99), 0.2) == 10


@pytest.mark.parametrize(
    ("count", "weights", "gamma"),
    [(0, (1, 2), 0.2), (3, (1, 2), 0.2), (1, (1, 0), 0.2), (1, (1, 2), 1.0), (1, (1, 2), -0.1)],
)
def test_what_makes_no_sense_is_refused(count: int, weights: tuple[int, ...], gamma: float) -> None:
    with pytest.raises(CommitteeError):
        max_corrupt(count, weights, gamma)
