from typing import Any

import pytest

from fgpr.errors import CapacityError, CommitteeError, EncodingError
from fgpr.secagg import committee
from fgpr.secagg.groups import deal
from fgpr.secagg.planning import AggregationRules, committee_of
from fgpr.secagg.privacy import PrivacyRules
from support.federation import Federation

RULES = AggregationRules()


# docs/protocol.md, One round, step 1: (c, x, t) and the default min_cohort.
@pytest.mark.parametrize(("size", "t", "min_cohort"), [(3, 3, 3), (4, 4, 3), (5, 4, 3), (10, 8, 4), (20, 15, 6)])
def test_a_plan_carries_the_numbers_of_the_protocol(size: int, t: int, min_cohort: int) -> None:
    plan = Federation(size).plan().message
    assert (len(plan.seats), plan.threshold, plan.min_cohort) == (size, t, min_cohort)
    assert plan.spare == 1 + size // 20


def test_everybody_is_invited_and_seated_in_order_of_ids() -> None:
    made = Federation(6)
    plan = made.plan().message
    assert plan.invited == tuple(seat.client for seat in plan.seats) == made.names
    assert {seat.client: seat.key for seat in plan.seats} == made.keys


def test_a_revoked_client_is_neither_invited_nor_seated_nor_counted() -> None:
    made = Federation(6)
    made.revoke("client-02")
    made.roster = made.new_roster(2)
    plan = made.plan().message
    assert "client-02" not in plan.invited
    assert plan.seat_of("client-02") is None
    assert (len(plan.seats), plan.threshold, plan.roster_version) == (5, 4, 2)


def test_the_numbers_are_recomputed_from_the_roster() -> None:
    made = Federation(6)
    plan = made.plan().message
    found = committee_of(plan, made.roster.message)
    assert (found.seats, found.corrupt_seats, found.threshold) == (6, 1, 5)
    with pytest.raises(CommitteeError, match="leaves fewer than 2 honest"):
        committee_of(plan.model_copy(update={"min_cohort": 2}), made.roster.message)


def test_a_drawn_invitation_follows_the_roster_s_nonce_and_theta() -> None:
    made = Federation(12, AggregationRules(invited_cap=8))
    plan = made.plan().message
    nonce = made.roster.message.nonce
    assert plan.invited == committee.draw(made.names, 8, nonce, 0, committee.INVITED)
    assert len(plan.invited) == 8
    assert plan.invited_cap == 8


def test_a_seat_without_a_key_stays_empty_and_counts_until_too_few_are_left() -> None:
    made = Federation(5)
    del made.keys["client-03"]
    plan = made.plan().message
    assert plan.seats[3].key is None
    assert plan.threshold == 4
    del made.keys["client-00"]
    with pytest.raises(CommitteeError, match="3 of 5 seats have an opening key and 4 openings are needed"):
        made.plan()


@pytest.mark.parametrize(
    ("size", "rules", "reason"),
    [
        (2, {}, "min_cohort 3 is more than the 2 invited"),
        (3, {"delta": 0.34}, "can miss 0 members"),
        (4, {"min_cohort": 2}, "leaves fewer than 2 honest"),
        (4, {"min_cohort": 5}, "more than the 4 invited"),
        (7, {"gamma": 0.9}, "threshold 7 and can miss 0"),
    ],
)
def test_an_unsafe_round_is_refused_when_it_is_opened(size: int, rules: dict[str, Any], reason: str) -> None:
    made = Federation(size, AggregationRules.from_json(RULES.to_json() | rules))
    with pytest.raises(CommitteeError, match=reason):
        made.plan()


def test_nobody_to_serve_is_no_committee() -> None:
    with pytest.raises(CommitteeError, match="nobody in the roster may serve"):
        Federation(0).plan()


# 4 (2^43 - 1)(2^16 - 1) < 2^61 - 1 <= 5 (2^43 - 1)(2^16 - 1).
def test_the_border_of_capacity() -> None:
    rules = AggregationRules(fraction_bits=43)
    assert len(Federation(4, rules).plan().message.invited) == 4
    with pytest.raises(CapacityError, match="at most 4 clients fit"):
        Federation(5, rules).plan()


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 1.0},
        {"gamma": -0.1},
        {"gamma": True},
        {"delta": 1.0},
        {"committee_cap": 2},
        {"invited_cap": 0},
        {"min_cohort": 0},
        {"weighting": "classes"},
        {"fraction_bits": 0},
        {"fraction_bits": 53},
        {"weight_bits": 0},
        {"weight_bits": 33},
        {"weight_cap": 0},
        {"colour": "blue"},
    ],
)
def test_rules_are_strict(change: dict[str, Any]) -> None:
    with pytest.raises(EncodingError, match=next(iter(change))):
        AggregationRules.from_json(RULES.to_json() | change)
    assert AggregationRules.from_json({}) == RULES


def test_classes_travel_with_their_unit_and_bound_the_codec_s_cap() -> None:
    rules = AggregationRules(weighting="classes", weight_unit=300)
    plan = Federation(4, rules).plan().message
    assert (plan.weighting, plan.weight_unit, plan.codec["weight_cap"]) == ("classes", 300, 16)
    assert AggregationRules(weighting="classes", weight_unit=300, weight_cap=8).largest_weight == 8
    assert Federation(4).plan().message.codec["weight_cap"] == 65_535


@pytest.mark.parametrize("change", [{"weighting": "classes"}, {"weight_unit": 300}, {"weight_unit": 0}])
def test_a_unit_belongs_to_classes_alone(change: dict[str, Any]) -> None:
    with pytest.raises(EncodingError, match="weight_unit"):
        AggregationRules.from_json(AggregationRules().to_json() | change)


def test_rules_without_groups_and_trust_region_have_the_bytes_that_they_had() -> None:
    plan = Federation(4).plan().message
    for message in (AggregationRules(), plan):
        assert not {"groups", "dealt", "combine", "largest_step"} & message.to_json().keys()
        assert type(message).decode(message.encode()) == message


def test_groups_and_trust_region_travel_in_the_plan() -> None:
    rules = AggregationRules(groups=3, combine="median", largest_step=0.5)
    assert AggregationRules.from_json(rules.to_json()) == rules
    made = Federation(15, rules)
    plan = made.plan().message
    told = plan.to_json()
    assert (told["groups"], told["combine"], told["largest_step"]) == (3, "median", 0.5)
    assert plan.dealt == deal(plan.invited, 3, made.roster.message.nonce, 0)
    parts = plan.parts(plan.invited)
    assert sorted(name for part in parts for name in part) == list(plan.invited)
    assert [len(part) for part in parts] == [5, 5, 5]
    assert plan.parts(["client-03"]) == tuple(("client-03",) if number == plan.dealt[3] else () for number in (1, 2, 3))
    assert plan.min_cohort == 5
    with pytest.raises(CommitteeError, match="10 invited clients dealt to 3 groups are 3 in the smallest"):
        Federation(10, rules).plan()


@pytest.mark.parametrize(
    "change",
    [{"groups": 3}, {"groups": 2, "combine": "median"}, {"combine": "median"}, {"groups": 0}, {"largest_step": 0}],
)
def test_groups_that_outvote_nobody_are_no_rules(change: dict[str, Any]) -> None:
    with pytest.raises(EncodingError, match=r"groups|largest_step"):
        AggregationRules.from_json(AggregationRules().to_json() | change)


def test_where_every_client_counts_alike_the_total_shows_a_heavier_one() -> None:
    rules = AggregationRules(weighting="uniform")
    assert rules.largest_weight == 1
    assert Federation(4, rules).plan().message.codec["weight_cap"] == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"draw": "weights", "invited_cap": 8}, "would count rows twice"),
        ({"draw": "weights", "invited_cap": 8, "weighting": "classes", "weight_unit": 300}, "would count rows twice"),
        ({"draw": "weights", "weighting": "uniform"}, "draws nobody: set invited_cap"),
        ({"privacy": {"clip": 0.5, "noise": 2.0}}, "weighting 'exact' under differential privacy"),
        (
            {"privacy": {"clip": 0.5, "noise": 2.0}, "weighting": "classes", "weight_unit": 300},
            "weighting 'classes' under differential privacy",
        ),
    ],
)
def test_draws_by_weight_and_noise_go_with_uniform_weights(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        AggregationRules.from_json(RULES.to_json() | change)
    AggregationRules(weighting="uniform", draw="weights", invited_cap=8)
    AggregationRules(weighting="uniform", privacy=PrivacyRules(clip=0.5, noise=2.0))


# Rules within their limits reach this with tens of thousands of clients only, so that levels are set past theirs:
# n clients of clip C = 2^53 - 1, two carriers of a noise of deviation C, three numbers: n C + sqrt(n C^2 43 ln 2) is
# 102 C for n = 60 and 142 C for n = 90, and half the modulus is 128 C.
@pytest.mark.parametrize(("size", "fits"), [(60, True), (90, False)])
def test_the_border_of_capacity_under_noise(size: int, fits: bool) -> None:
    noised = PrivacyRules(clip=0.5, noise=1.0).model_copy(update={"levels": 2**53 - 1})
    made = Federation(size, AggregationRules(weighting="uniform").model_copy(update={"privacy": noised}))
    if fits:
        terms = made.plan().message.differential_privacy
        assert terms is not None
        assert (terms.clip, terms.sigma, terms.carriers) == (2**53 - 1, 2**53 - 1, 2)
        return
    with pytest.raises(CapacityError, match="invite fewer, or lower levels or noise"):
        made.plan()
