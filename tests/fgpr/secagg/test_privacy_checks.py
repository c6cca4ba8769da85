"""Checks 6, 15 and 16 of a plan under differential privacy, each broken by what an aggregator could change."""

from typing import Any

import numpy as np
import pytest

from fgpr.errors import PlanRefused
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.plan_case import Case, case

RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=4.0))


@pytest.fixture
def dp() -> Case:
    return case(5, RULES)


def change_terms(made: Case, **fields: Any) -> None:
    terms = made.plan.differential_privacy
    assert terms is not None
    made.change(differential_privacy=terms.model_copy(update=fields))


def refused(made: Case, check: int, reason: str) -> None:
    with pytest.raises(PlanRefused, match=reason) as error:
        made.check()
    assert error.value.check == check


def test_an_honest_plan_passes_with_the_terms_of_the_rules(dp: Case) -> None:
    terms = dp.check().plan.differential_privacy
    assert terms is not None
    # K = 1 of 5 at gamma 0.2.
    assert (terms.carriers, terms.sigma, terms.clip) == (4 - 1, 4 * 2**20, 2**20)
    assert terms.origin == tuple(dp.prior.vector.tolist())


def test_check_6_noise_that_would_wrap_around_the_field(dp: Case) -> None:
    # A hundred clips of 2^53 are 2^59.6, below half the modulus; the noise of so many is what does not fit any more.
    dp.change(invited=dp.plan.invited * 20)
    change_terms(dp, clip=2**53 - 1, sigma=1)
    refused(dp, 8, "at most all")
    change_terms(dp, sigma=2**53 - 1)
    refused(dp, 6, "above half the modulus")


@pytest.mark.parametrize("carriers", [4, 5, 1000, 2, 1])
def test_check_15_noise_shared_among_other_numbers_than_the_sure_ones(dp: Case, carriers: int) -> None:
    change_terms(dp, carriers=carriers)
    refused(dp, 15, f"shared among {carriers} clients; min_cohort 4 less K 1 leaves 3")


def test_check_15_a_min_cohort_that_only_the_noise_knows_of(dp: Case) -> None:
    # Fewer carriers than before are right for the smaller cohort, and the plan did not change them.
    dp.change(min_cohort=3)
    refused(dp, 15, "shared among 3 clients; min_cohort 3 less K 1 leaves 2")


@pytest.mark.parametrize(("weighting", "unit"), [("exact", None), ("classes", 10)])
def test_check_15_weights_without_noise(dp: Case, weighting: str, unit: int | None) -> None:
    dp.change(weighting=weighting, weight_unit=unit)
    refused(dp, 15, "tells weights without noise")


def test_check_15_differences_from_something_else(dp: Case) -> None:
    terms = dp.plan.differential_privacy
    assert terms is not None
    change_terms(dp, origin=tuple(np.nextafter(terms.origin, 9.0).tolist()))
    refused(dp, 15, "not counted from the prior")


def test_check_15_differences_of_another_length(dp: Case) -> None:
    terms = dp.plan.differential_privacy
    assert terms is not None
    change_terms(dp, origin=terms.origin[:-1])
    refused(dp, 15, "not counted from the prior")


def test_check_16_less_noise_than_the_owner_asks_for(dp: Case) -> None:
    dp.floors = Floors(noise=4.0)
    dp.check()
    change_terms(dp, sigma=4 * 2**20 - 1)
    refused(dp, 16, "noise multiplier 4 is below this client's 4.0")


def test_check_16_no_noise_where_the_owner_asks_for_some() -> None:
    made = case()
    made.check()
    made.floors = Floors(noise=0.5)
    refused(made, 16, "it adds no noise")


@pytest.mark.parametrize(
    "change", [{"sigma": 4 * 2**20 - 1}, {"sigma": 4 * 2**20 + 1}, {"clip": 2**21}, {"quantum": 0.1}, {"delta": 0.01}]
)
def test_check_16_other_terms_than_those_of_an_earlier_round(dp: Case, change: dict[str, Any]) -> None:
    dp.change(round=dp.plan.round + 1)
    dp.remember_round(contributed=False)
    dp.check()
    change_terms(dp, **change)
    refused(dp, 16, "not those of round 1")


def test_check_16_noise_that_is_gone_or_came_later(dp: Case) -> None:
    terms = dp.plan.differential_privacy
    dp.change(round=dp.plan.round + 1)
    dp.remember_round(contributed=False)
    dp.change(differential_privacy=None)
    refused(dp, 16, "not those of round 1")
    plain = case(5, RULES.model_copy(update={"privacy": None}))
    plain.change(round=plain.plan.round + 1)
    plain.remember_round(contributed=False)
    plain.change(differential_privacy=terms)
    plain.change(min_cohort=4)
    refused(plain, 16, "not those of round 1")


def test_check_16_another_prior_and_other_carriers_are_no_other_terms(dp: Case) -> None:
    dp.change(round=dp.plan.round + 1)
    terms = dp.plan.differential_privacy
    assert terms is not None
    dp.remember_round(
        contributed=False, differential_privacy=terms.model_copy(update={"origin": (0.0, 0.0, 0.0), "carriers": 7})
    )
    dp.check()
