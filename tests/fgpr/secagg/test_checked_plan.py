import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import OwnerConsentRequired, PlanRefused
from fgpr.secagg.checked_plan import recall
from fgpr.secagg.history import Floors, PastRound
from fgpr.secagg.planning import AggregationRules
from support.plan_case import case

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)


def test_an_honest_plan_passes_and_the_checks_tell_what_they_found() -> None:
    made = case()
    checked = made.check()
    assert checked.plan == made.plan
    assert checked.digest == made.plan.digest()
    assert checked.roster == made.roster.message
    assert (checked.committee.threshold, checked.committee.corrupt_seats, checked.committee.corrupt_invited) == (
        4,
        1,
        1,
    )
    assert checked.codec.fraction_bits == 42


def test_a_checked_plan_is_recalled_from_what_was_remembered() -> None:
    made = case()
    assert recall(PastRound(made.plan, made.roster.message)) == made.check()


def test_a_hidden_seat_is_noticed_whatever_threshold_the_plan_then_names() -> None:
    for threshold in range(1, 11):
        made = case(10, AggregationRules())
        made.change(seats=made.plan.seats[:-1], threshold=threshold)
        with pytest.raises(PlanRefused) as refused:
            made.check()
        assert refused.value.check in (8, 10)


def test_fourteen_asks_the_owner_after_one_carry() -> None:
    made = case()
    made.change(prior_version=1)
    made.change_prior(version=1)
    made.check()
    made.change(prior_version=2)
    made.change_prior(version=2)
    with pytest.raises(OwnerConsentRequired, match="carried 2 times"):
        made.check()
    made.floors = Floors(carries=2)
    made.check()


def test_gaps_in_rounds_and_priors_are_fine_and_so_is_a_member_that_is_not_invited() -> None:
    made = case()
    made.change(round=40, prior_version=9, theta_version=9)
    made.change_prior(version=9, theta_version=9)
    made.remember(last_round=3, prior_version=4)
    made.check()


def test_an_empty_seat_is_fine_and_counts() -> None:
    made = case()
    made.change(seats=(made.plan.seats[0].model_copy(update={"key": None}), *made.plan.seats[1:]))
    assert made.check().committee.seats == 5


def test_a_round_without_a_contribution_of_this_client_needs_no_void_proof() -> None:
    made = case()
    made.change(round=2)
    made.remember_round(contributed=False)
    made.check()


def test_a_new_theta_may_have_a_new_roster_and_other_seats() -> None:
    made = case()
    made.change(prior_version=1, theta_version=1)
    made.change_prior(version=1, theta_version=1)
    made.remember_round(prior_version=0, theta_version=0)
    made.change_roster(nonce=bytes(32), version=2)
    made.check()


def test_a_void_round_s_roster_binds_only_the_next_prior_of_the_same_theta() -> None:
    # Round 1 was void; round 2 of the same prior had a newer roster and was carried; round 3 has to keep that one.
    made = case()
    made.change(round=3, prior_version=1)
    made.change_prior(version=1)
    made.remember_round(prior_version=0, round=1, contributed=False)
    made.change_roster(nonce=bytes(32), version=2)
    made.remember_round(prior_version=0, round=2)
    made.check()


def test_each_limit_itself_is_fine() -> None:
    made = case()
    made.floors = Floors(gamma=0.2, min_cohort=3, committee=5, weight_cap=65_535)
    made.remember(serials={"client-02": 1})
    # The roster may be the last thing that was logged before the plan.
    made.change_roster(checkpoint=made.plan.checkpoint)
    made.check()


@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_prior_may_lie_on_a_bound(bound: str) -> None:
    made = case()
    made.change_prior(vector=np.array(made.plan.codec[bound]))
    made.check()


def test_whoever_is_invited_needs_no_seat() -> None:
    made = case(12, AggregationRules(committee_cap=8))
    seated = {seat.client for seat in made.plan.seats}
    made.client = next(name for name in made.plan.invited if name not in seated)
    assert made.check().committee.seats == 8
