"""Rules and terms of differential privacy, the tail of the noise, and what fits the field."""

import math
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

from fgpr.errors import CapacityError, EncodingError
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules, PrivacyTerms, check_signed_capacity, noise_tail

ORIGIN = (0.0, -1.0, 2.0)


def terms(**changes: Any) -> PrivacyTerms:
    fields: dict[str, Any] = {
        "mechanism": "distributed-discrete-gaussian",
        "origin": ORIGIN,
        "quantum": 2.0**-10,
        "clip": 1024,
        "sigma": 4096,
        "carriers": 4,
        "delta": 1e-5,
    }
    return PrivacyTerms(**(fields | changes))


def test_a_plan_s_terms_follow_from_the_rules() -> None:
    made = PrivacyRules(clip=0.5, noise=4.0, levels=2**20).terms(ORIGIN, 38)
    assert (made.quantum, made.clip, made.sigma) == (0.5 / 2**20, 2**20, 4 * 2**20)
    assert (made.origin, made.carriers, made.delta) == (ORIGIN, 38, 1e-5)
    assert made.share == Fraction(16 * 2**40, 38)
    assert made.multiplier == 4.0
    assert PrivacyTerms.decode(made.encode()) == made


def test_sigma_is_rounded_up_never_down() -> None:
    # 0.1 as a float is a little more than 1/10.
    assert PrivacyRules(clip=1.0, noise=0.1, levels=10).terms(ORIGIN, 2).sigma == 2
    assert PrivacyRules(clip=1.0, noise=0.5, levels=10).terms(ORIGIN, 2).sigma == 5


def test_a_share_below_half_a_quantum_makes_no_terms() -> None:
    assert PrivacyRules(clip=1.0, noise=1.0, levels=5).terms(ORIGIN, 100).share == Fraction(1, 4)
    with pytest.raises(EncodingError, match="half a quantum at least"):
        PrivacyRules(clip=1.0, noise=1.0, levels=5).terms(ORIGIN, 101)


@pytest.mark.parametrize(
    "change",
    [
        {"clip": 0.0},
        {"clip": -1.0},
        {"clip": math.inf},
        {"clip": math.nan},
        {"noise": 0.0},
        {"noise": -2.0},
        {"noise": "4"},
        {"delta": 0.0},
        {"delta": 1.0},
        {"levels": 0},
        {"levels": 2**31},
        {"colour": "blue"},
    ],
)
def test_rules_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        PrivacyRules(**({"clip": 0.5, "noise": 4.0} | change))


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "none"},
        {"origin": ()},
        {"quantum": 0.0},
        {"clip": 0},
        {"sigma": 0},
        {"sigma": 2**53},
        {"carriers": 0},
        {"sigma": 1, "carriers": 5},
        {"delta": 1.0},
    ],
)
def test_terms_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        terms(**change)


@pytest.mark.parametrize("weighting", ["exact", "classes"])
def test_weights_that_get_no_noise_are_refused(weighting: Any) -> None:
    unit = 10 if weighting == "classes" else None
    with pytest.raises(ValueError, match="set weighting = 'uniform'"):
        AggregationRules(weighting=weighting, weight_unit=unit, privacy=PrivacyRules(clip=1.0, noise=1.0))
    AggregationRules(weighting="uniform", privacy=PrivacyRules(clip=1.0, noise=1.0))


def test_the_tail_is_the_sub_gaussian_bound_rounded_up() -> None:
    # T = sqrt(2 n s^2 (40 ln 2 + ln(2 L))) with L = 4, a power of two: 43 ln 2.
    made = terms(origin=(0.0,) * 4)
    wanted = math.sqrt(2 * 7 * 4096**2 / 4 * 43 * math.log(2))
    assert noise_tail(7, made) == math.ceil(wanted)
    # Three numbers are treated like four, one like one.
    assert noise_tail(7, terms()) == math.ceil(wanted)
    assert noise_tail(1, terms(origin=(0.0,))) == math.ceil(math.sqrt(2 * 4096**2 / 4 * 41 * math.log(2)))


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1), Fraction(30)])
def test_the_tail_is_beyond_the_exact_probability(share: Fraction) -> None:
    # One client, one number: the exact tail of the discrete Gaussian, summed.
    made = terms(origin=(0.0,), sigma=math.isqrt(share.numerator * 16), carriers=share.denominator * 16, clip=1)
    reach = noise_tail(1, made)
    weights = [math.exp(-x * x / (2 * float(made.share))) for x in range(20 * reach)]
    beyond = 2 * math.fsum(weights[reach:]) / (2 * math.fsum(weights) - 1)
    assert beyond <= 2.0**-40
    # And not wastefully far.
    assert 2 * stats.norm.sf(0.8 * reach / math.sqrt(made.share)) > 2.0**-40


def test_capacity_is_exact_at_the_border() -> None:
    made = terms()
    tail = noise_tail(3, made)
    exactly = 2 * (3 * made.clip + tail) + 1
    check_signed_capacity(3, made, exactly)
    with pytest.raises(CapacityError, match=f"3 clients \\* clip 1024 \\+ noise of up to {tail}"):
        check_signed_capacity(3, made, exactly - 2)
    with pytest.raises(CapacityError):
        check_signed_capacity(4, made, exactly)


def test_how_many_clients_fit_the_field_of_the_protocol() -> None:
    made = PrivacyRules(clip=0.5, noise=50.0).terms(ORIGIN, 2)
    check_signed_capacity(10**6, made, MERSENNE_61)
    wide = terms(clip=2**53 - 1)
    fitting = (MERSENNE_61 // 2 - noise_tail(127, wide)) // wide.clip
    assert fitting == 127
    check_signed_capacity(127, wide, MERSENNE_61)
    with pytest.raises(CapacityError):
        check_signed_capacity(128, wide, MERSENNE_61)


def test_no_clients_have_no_capacity() -> None:
    with pytest.raises(EncodingError, match="0 clients"):
        check_signed_capacity(0, terms(), MERSENNE_61)


def test_the_same_mechanism_may_have_another_prior_and_other_carriers() -> None:
    assert terms().same_mechanism(terms(origin=(1.0, 1.0, 1.0), carriers=9))
    for change in ({"sigma": 4095}, {"clip": 1025}, {"quantum": 2.0**-9}, {"delta": 1e-4}):
        assert not terms().same_mechanism(terms(**change))
