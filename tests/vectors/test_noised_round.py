"""The vectors of differential privacy, checked by arithmetic of one's own: floats, Python's integers, no codec."""

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from fgpr import canonical
from vectors import generate

STORED = generate.stored()["privacy"]
PLAN = next(line["value"] for line in STORED["messages"] if line["type"] == "Plan")
TERMS = PLAN["differential_privacy"]
PRIOR = next(line["value"] for line in STORED["messages"] if line["type"] == "PriorRecord")
P = 2**61 - 1


def words(text: str) -> list[int]:
    raw = canonical.from_text(text)
    return [int.from_bytes(raw[place : place + 8], "little") for place in range(0, len(raw), 8)]


class Sampler:
    """Algorithms 1 to 3 of Canonne, Kamath and Steinke 2020 as they are printed, with fractions throughout."""

    def __init__(self, drawn: Iterator[bytes]) -> None:
        self._drawn = drawn

    def below(self, limit: int) -> int:
        bits = (limit - 1).bit_length()
        while bits:
            raw = next(self._drawn)
            assert len(raw) == -(-bits // 8)
            number = int.from_bytes(raw, "little") >> (8 * len(raw) - bits)
            if number < limit:
                return number
        return 0

    def exp(self, gamma: Fraction, denominator: int) -> bool:
        """Bernoulli(exp(-gamma)); gamma is written over the denominator, as whoever draws the same bytes must."""
        if gamma > 1:
            return all(self.exp(Fraction(1), 1) for _ in range(math.floor(gamma))) and self.exp(
                gamma - math.floor(gamma), denominator
            )
        if gamma == 1:
            # floor(1) times exp(-1), then exp(-0).
            return self.series(Fraction(1), 1) and self.series(Fraction(0), denominator)
        return self.series(gamma, denominator)

    def series(self, gamma: Fraction, denominator: int) -> bool:
        k = 1
        while self.below(denominator * k) < gamma * denominator:
            k += 1
        return k % 2 == 1

    def laplace(self, t: int) -> int:
        while True:
            u = self.below(t)
            if not self.exp(Fraction(u, t), t):
                continue
            v = 0
            while self.exp(Fraction(1), 1):
                v += 1
            negative, y = self.below(2), u + t * v
            if not (negative and y == 0):
                return -y if negative else y

    def gaussian(self, variance: Fraction) -> int:
        t = math.isqrt(math.floor(variance)) + 1
        while True:
            y = self.laplace(t)
            away = (abs(y) - variance / t) ** 2 / (2 * variance)
            if self.exp(away, 2 * variance.numerator * variance.denominator * t * t):
                return y


@pytest.mark.parametrize("line", STORED["derivation"], ids=lambda line: line["client"])
def test_each_contribution_follows_from_numbers_and_drawn_bytes(line: dict[str, Any]) -> None:
    quanta, clip = line["quanta"], TERMS["clip"]
    assert sum(number**2 for number in quanta) <= clip**2
    bounds = PLAN["codec"]
    inside = [min(max(x, a), b) for x, a, b in zip(line["values"], bounds["lower"], bounds["upper"], strict=True)]
    away = [(x - start) / TERMS["quantum"] for x, start in zip(inside, TERMS["origin"], strict=True)]
    assert line["shrunk"] == (math.hypot(*away) > clip)
    assert [name for name, x, y in zip(bounds["names"], inside, line["values"], strict=True) if x != y] == line[
        "saturated"
    ]
    scale = min(1.0, clip / math.hypot(*away)) if any(away) else 1.0
    assert all(abs(number - scale * wanted) <= 1.5 for number, wanted in zip(quanta, away, strict=True))
    drawn = [canonical.from_text(each) for each in line["drawn"]]
    tape = iter(drawn)
    sampler = Sampler(tape)
    variance = Fraction(TERMS["sigma"] ** 2, TERMS["carriers"])
    assert [sampler.gaussian(variance) for _ in quanta] == line["noise"]
    mask = [int.from_bytes(raw, "little") & P for raw in _split(next(tape))]
    assert mask == words(line["mask"])
    encoded = [*((q + n) % P for q, n in zip(quanta, line["noise"], strict=True)), 1]
    assert encoded == words(line["encoded"])
    assert [(e + m) % P for e, m in zip(encoded, mask, strict=True)] == words(line["masked"])


def test_the_published_prior_follows_from_the_sum() -> None:
    total = [sum(column) % P for column in zip(*(words(line["encoded"]) for line in STORED["derivation"]), strict=True)]
    assert words(PRIOR["opened"]["sum"]) == total
    assert total[-1] == 3
    centred = [word - P if word > P // 2 else word for word in total[:-1]]
    exact = [
        Fraction(start) + Fraction(TERMS["quantum"]) * Fraction(number, 3)
        for start, number in zip(TERMS["origin"], centred, strict=True)
    ]
    assert [float(number) for number in exact] == PRIOR["theta"]
    # One round with a multiplier of 2.
    assert (PRIOR["privacy"]["rounds"], PRIOR["privacy"]["rho"]) == (1, 1 / 8)
    assert PRIOR["privacy"]["clamped"] == []
    assert json.dumps(PRIOR["privacy"]["epsilon"])


def _split(raw: bytes) -> list[bytes]:
    return [raw[place : place + 8] for place in range(0, len(raw), 8)]
