"""The draw in proportion to declared weights: the same on every machine, and in proportion."""

import _pydecimal
import decimal
import hashlib
import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from scipy import stats

from fgpr import canonical
from fgpr.errors import CommitteeError
from fgpr.secagg import weighted_draw
from fgpr.secagg.committee import DRAWS, INVITED

NONCE = bytes(range(32))
WEIGHTS = {"a": 1, "b": 2, "c": 3, "d": 10}


def hashed(client: str, version: int = 5) -> bytes:
    """H of docs/protocol.md, written out."""
    body = {"client": client, "nonce": canonical.to_text(NONCE), "theta_version": version}
    return hashlib.sha256(INVITED.encode() + b"\0" + canonical.encode(body)).digest()


def nonces(count: int) -> list[bytes]:
    return [number.to_bytes(32, "big") for number in range(count)]


def test_the_rank_is_minus_the_logarithm_over_the_weight() -> None:
    for value in (0, 1, 2**255, 2**256 - 1, 2**200 + 12345, int.from_bytes(hashed("a"), "big")):
        u = (2 * value + 1) / 2**257
        for weight in (1, 7, 65_535):
            rank = weighted_draw.rank(value.to_bytes(32, "big"), weight)
            assert float(rank) == pytest.approx(-math.log(u) / weight, rel=1e-12, abs=1e-15)
    # ln 2 to 60 digits (OEIS A002162), at u = 1/2 and a little: 2^-257 further.
    half = weighted_draw.rank((2**255).to_bytes(32, "big"), 1)
    assert str(half)[:60] == "0.6931471805599453094172321214581765680755001343602552541206"


def test_an_independent_arithmetic_finds_the_same_digits() -> None:
    # The standard library's other implementation of the same specification, in Python's own integers.
    context = _pydecimal.Context(prec=60, rounding=_pydecimal.ROUND_HALF_EVEN, Emin=-999, Emax=999)
    for client in "abcdefgh":
        u = context.divide(
            _pydecimal.Decimal(2 * int.from_bytes(hashed(client), "big") + 1), _pydecimal.Decimal(2**257)
        )
        for weight in (1, 3, 65_535):
            wanted = context.divide(context.ln(u).copy_negate(), _pydecimal.Decimal(weight))
            assert str(weighted_draw.rank(hashed(client), weight)) == str(wanted)


def test_the_order_is_that_of_exact_integers() -> None:
    # -ln(u) / w < -ln(v) / z where u^z > v^w: no logarithm at all, possible for small weights.
    values = {client: 2 * int.from_bytes(hashed(client), "big") + 1 for client in "abcdefghijklmnop"}
    weights = {client: 1 + place % 5 for place, client in enumerate(values)}
    for one, other in itertools.permutations(values, 2):
        exact = Fraction(values[one], 2**257) ** weights[other] > Fraction(values[other], 2**257) ** weights[one]
        by_rank = weighted_draw.rank(hashed(one), weights[one]) < weighted_draw.rank(hashed(other), weights[other])
        assert by_rank is exact


def test_the_drawn_are_those_with_the_least_rank() -> None:
    ranks = {
        client: -math.log((int.from_bytes(hashed(client), "big") + 0.5) / 2**256) / w for client, w in WEIGHTS.items()
    }
    for count in (1, 2, 3):
        wanted = tuple(sorted(sorted(WEIGHTS, key=ranks.__getitem__)[:count]))
        assert weighted_draw.draw(WEIGHTS, count, NONCE, 5, INVITED) == wanted
        assert weighted_draw.draw(dict(reversed(WEIGHTS.items())), count, NONCE, 5 + DRAWS, INVITED) == wanted
    assert weighted_draw.draw(WEIGHTS, 4, NONCE, 5, INVITED) == ("a", "b", "c", "d")


def test_the_settings_of_the_thread_change_nothing() -> None:
    wanted = weighted_draw.rank(hashed("a"), 3)
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert weighted_draw.rank(hashed("a"), 3) == wanted


def test_ties_go_to_the_lower_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted_draw, "rank", lambda *_: decimal.Decimal(1))
    assert weighted_draw.draw({"c": 1, "b": 1, "a": 1}, 2, NONCE, 1, INVITED) == ("a", "b")


def test_one_draw_is_in_proportion_to_the_weights() -> None:
    drawn = Counter(weighted_draw.draw(WEIGHTS, 1, nonce, 0, INVITED)[0] for nonce in nonces(4_000))
    total = sum(WEIGHTS.values())
    expected = [4_000 * weight / total for weight in WEIGHTS.values()]
    assert stats.chisquare([drawn[client] for client in WEIGHTS], expected).pvalue > 1e-3
    # The test would notice heads.
    assert stats.chisquare([drawn[client] for client in WEIGHTS], [1_000] * 4).pvalue < 1e-9


def test_two_draws_are_one_after_another_without_replacement() -> None:
    drawn = Counter(weighted_draw.draw(WEIGHTS, 2, nonce, 0, INVITED) for nonce in nonces(4_000))
    total = sum(WEIGHTS.values())
    pairs = list(itertools.combinations(WEIGHTS, 2))
    chances = [
        sum(WEIGHTS[one] / total * WEIGHTS[other] / (total - WEIGHTS[one]) for one, other in ((a, b), (b, a)))
        for a, b in pairs
    ]
    assert sum(chances) == pytest.approx(1)
    assert stats.chisquare([drawn[pair] for pair in pairs], [4_000 * chance for chance in chances]).pvalue > 1e-3


@pytest.mark.parametrize(("weights", "count"), [({"a": 0}, 1), ({"a": -1, "b": 2}, 1), ({"a": 1}, 0), (WEIGHTS, -1)])
def test_draws_that_make_no_sense_are_refused(weights: dict[str, int], count: int) -> None:
    with pytest.raises(CommitteeError, match="at least 1"):
        weighted_draw.draw(weights, count, NONCE, 0, INVITED)


def test_nobody_to_draw_from() -> None:
    assert weighted_draw.draw({}, 3, NONCE, 0, INVITED) == weighted_draw.draw({}, 0, NONCE, 0, INVITED) == ()


def test_the_race_of_random_weights_is_the_sorted_one() -> None:
    rng = random.Random(4)
    weights = {f"client-{number:02d}": rng.randint(1, 500) for number in range(40)}
    drawn = weighted_draw.draw(weights, 12, NONCE, 5, INVITED)
    ranked = sorted(weights, key=lambda client: weighted_draw.rank(hashed(client), weights[client]))
    assert drawn == tuple(sorted(ranked[:12]))
