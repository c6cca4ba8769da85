"""Owners who name their peers: strangers and missing peers stop the client before anything leaves it."""

import dataclasses

import pytest

from fgpr.errors import PlanRefused
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from fgpr.signatures import key_id
from support.plan_case import Case, case


def keys(made: Case) -> dict[str, str]:
    return {entry.client: key_id(entry.identity_key) for entry in made.roster.message.clients}


def pin(made: Case, **lists: frozenset[str]) -> Case:
    made.floors = dataclasses.replace(Floors(), **lists)
    return made


def test_a_plan_of_pinned_peers_passes() -> None:
    made = case()
    everybody = keys(made)
    others = frozenset(everybody.values()) - {everybody[made.client]}
    pin(made, required_peers=others, accepted_peers=others).check()


@pytest.mark.parametrize("stranger", ["client-00", "client-04"])
def test_a_stranger_is_refused_by_name_and_key(stranger: str) -> None:
    made = case()
    everybody = keys(made)
    accepted = frozenset(key for name, key in everybody.items() if name != stranger)
    with pytest.raises(PlanRefused, match=rf"check 9 .*does not accept: {stranger} \(key id {everybody[stranger]}\)"):
        pin(made, accepted_peers=accepted).check()


def test_whoever_takes_no_part_needs_not_be_accepted() -> None:
    made = case(12, AggregationRules(committee_cap=8, invited_cap=8))
    part = {*made.plan.invited, *(seat.client for seat in made.plan.seats)}
    made.client = made.plan.invited[0]
    idle = set(keys(made)) - part
    assert idle
    pin(made, accepted_peers=frozenset(keys(made)[name] for name in part)).check()
    seated = next(seat.client for seat in made.plan.seats if seat.client != made.client)
    with pytest.raises(PlanRefused, match=f"does not accept: {seated} "):
        pin(made, accepted_peers=frozenset(keys(made)[name] for name in part - {seated})).check()


def test_a_required_peer_needs_not_be_drawn_and_so_rules_out_nobody() -> None:
    made = case(12, AggregationRules(committee_cap=8, invited_cap=8))
    part = {*made.plan.invited, *(seat.client for seat in made.plan.seats)}
    made.client = made.plan.invited[0]
    idle = frozenset(key for name, key in keys(made).items() if name not in part)
    pin(made, required_peers=idle).check()
    with pytest.raises(PlanRefused, match="does not accept"):
        pin(made, required_peers=idle, accepted_peers=idle).check()


def test_a_required_peer_that_is_missing_or_revoked_is_named() -> None:
    made = case()
    with pytest.raises(PlanRefused, match=f"check 9 .*lacks peers that this client requires: {'A' * 43}"):
        pin(made, required_peers=frozenset({"A" * 43})).check()
    entries = made.roster.message.clients
    gone = entries[4].model_copy(update={"revoked": True})
    made.change_roster(clients=(*entries[:4], gone), version=2)
    with pytest.raises(PlanRefused, match=f"check 9 .*{keys(made)['client-04']}|check (8|10)"):
        pin(made, required_peers=frozenset({keys(made)["client-04"]})).check()


def test_no_peer_is_accepted_where_the_list_is_empty() -> None:
    with pytest.raises(PlanRefused, match="check 9"):
        pin(case(), accepted_peers=frozenset()).check()
