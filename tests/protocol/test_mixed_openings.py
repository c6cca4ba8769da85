"""Members shown different cohorts of one plan: their answers add up, and to what (docs/protocol.md, Why it holds)."""

import itertools
import random
from collections.abc import Iterator, Mapping

import pytest

from attacks.mixed_openings import CORRUPT, SHOWN, show
from attacks.scene import ME, in_memory
from fgpr.secagg import committee
from fgpr.secagg.field import MERSENNE_61
from support.federation import Federation
from support.mixed_answers import Learned, Seen, learned, pooled, unmasked

SIZES = [(c, x) for c in range(3, 8) for x in (1, 2) if c - x > 1]
CLIENTS = frozenset("ABCDE")
P = 11
"""A small field, in which it often happens that seats fit."""

STRUCTURED = [
    tuple(frozenset(names) for names in four)
    for four in (
        ("AB", "CD", "ABCD", ""),
        ("AB", "ABC", "ABCDE", "DE"),
        ("AB", "BC", "CA", "ABC"),
        ("AB", "CD", "AC", "BD"),
    )
]
"""Cohorts to choose among: with the sum of two others, nested, in a ring, and the four of which two pairs sum alike."""

Shown = Mapping[int, frozenset[str]]
"""For each honest seat the honest clients of the cohort that it answered; none for the empty one."""


def assignments(honest: list[int], chance: random.Random) -> Iterator[Shown]:
    """Which cohort each honest member is shown: all ways or 250 of each four, thirds of them alike, and by chance."""
    for four in STRUCTURED:
        ways = list(itertools.product(four, repeat=len(honest)))
        for way in ways if len(ways) <= 256 else chance.sample(ways, 250):
            yield dict(zip(honest, way, strict=True))
        thirds = list(itertools.islice(itertools.cycle(four[:3]), len(honest)))
        for _ in range(60):
            chance.shuffle(thirds)
            yield dict(zip(honest, thirds, strict=True))
    for _ in range(250):
        four = tuple(frozenset(name for name in CLIENTS if chance.random() < 0.5) for _ in range(4))
        yield {seat: chance.choice(four) for seat in honest}


def known(p: int, t: int, corrupt: set[int], shown: Shown) -> list[Learned]:
    """What the corrupt seats' shares and the honest ones' answers give away."""
    seen = [Seen(seat, frozenset([name])) for seat in corrupt for name in CLIENTS]
    return learned(p, t, [*seen, *(Seen(seat, clients) for seat, clients in shown.items())])


def is_one_sum(found: list[Learned], shown: Shown, least: int) -> bool:
    """Nothing, or the sum over exactly those whom `least` honest members at least checked as one cohort's honest."""
    if not found:
        return True
    (one, *more) = found
    alike = sum(clients == one.masks.keys() for clients in shown.values())
    return not more and set(one.masks.values()) == {1} and alike >= least


def search(c: int, x: int, t: int) -> list[Shown]:
    """Assignments that give away more than one sum, or another one than t - x honest members checked."""
    chance = random.Random(f"{c} {x} {t}")
    found: list[Shown] = []
    for corrupt in itertools.islice(itertools.combinations(chance.sample(range(1, c + 1), c), x), 2):
        honest = [seat for seat in range(1, c + 1) if seat not in corrupt]
        found += (
            shown
            for shown in assignments(honest, chance)
            if not is_one_sum(known(P, t, set(corrupt), shown), shown, t - x)
        )
    return found


@pytest.mark.parametrize(("c", "x"), SIZES)
def test_one_sum_that_two_thirds_of_the_honest_members_checked_is_all_that_is_learned(c: int, x: int) -> None:
    assert search(c, x, committee.threshold(c, x)) == []


@pytest.mark.parametrize(("c", "x"), SIZES)
def test_with_one_opening_less_the_same_search_finds_more(c: int, x: int) -> None:
    # floor((c + x) / 2) + 1 is one less for 4, 6 and 7 seats of which one, and 5 and 7 of which two are corrupt.
    assert search(c, x, committee.threshold(c, x) - 1)


@pytest.mark.parametrize(("c", "x"), SIZES)
def test_t_less_x_honest_answers_give_the_sum_and_one_less_gives_nothing(c: int, x: int) -> None:
    t, corrupt = committee.threshold(c, x), set(range(1, x + 1))
    for alike in range(c - x + 1):
        shown = {seat: CLIENTS if seat <= x + alike else frozenset[str]() for seat in range(x + 1, c + 1)}
        expected = [Learned(dict.fromkeys(sorted(CLIENTS), 1), 0)] if alike >= t - x else []
        assert known(P, t, corrupt, shown) == expected


@pytest.mark.parametrize("short", [0, 1])
def test_real_answers_to_two_cohorts_and_both_together(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # One opening less than t of seven is what floor((c + x) / 2) + 1 would take.
    t = committee.threshold(7, 1) - short
    monkeypatch.setattr(committee, "threshold", lambda *_: t)
    scene = in_memory(Federation(7))
    show(scene)
    made = scene.federation
    found = learned(MERSENNE_61, scene.now.threshold, pooled(made, [CORRUPT], SHOWN, 3))
    if not short:
        assert found == []
        return
    # What client-01 contributed weighs 8, the rest 10 each.
    (one,) = found
    weights = {name: 8 if name == ME else 10 for name in made.names}
    assert unmasked(made, one, 3) == sum(weights[name] * factor for name, factor in one.masks.items()) % MERSENNE_61
    assert len(one.masks) == 6
