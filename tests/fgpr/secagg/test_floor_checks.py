"""A plan that passed once, held against floors that its owner raised since: each of them holds."""

import dataclasses
from typing import Any

import pytest

from fgpr.errors import OwnerConsentRequired, PlanRefused
from fgpr.secagg.floor_checks import check_again
from fgpr.secagg.history import Floors
from support.plan_case import case


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ({"gamma": 0.5}, "check 9 of a plan: gamma 0.2 is below this client's 0.5"),
        ({"min_cohort": 4}, "check 9 of a plan: min_cohort 3 is below this client's 4"),
        ({"committee": 6}, "check 9 of a plan: 5 seats, this client asks for 6"),
        ({"weight_cap": 1000}, "check 9 of a plan: weight cap 65535 is above 1000"),
        ({"suite": "mlkem768-x25519"}, "check 9 of a plan: suite x25519 is weaker"),
        ({"groups": 0}, "check 9 of a plan: 1 groups are more"),
        ({"noise": 0.1}, "check 16 of a plan: it adds no noise"),
        ({"required_peers": frozenset({"A" * 43})}, "check 9 of a plan: .* lacks peers"),
        ({"accepted_peers": frozenset[str]()}, "check 9 of a plan: .* does not accept"),
    ],
)
def test_a_raised_floor_holds(raised: dict[str, Any], said: str) -> None:
    checked = case().check()
    check_again(checked.plan, checked.roster, checked.codec, "client-00", Floors())
    with pytest.raises(PlanRefused, match=said):
        check_again(checked.plan, checked.roster, checked.codec, "client-00", dataclasses.replace(Floors(), **raised))


def test_fewer_carries() -> None:
    checked = case().check()
    carried = checked.plan.model_copy(update={"prior_version": checked.plan.theta_version + 1})
    check_again(carried, checked.roster, checked.codec, "client-00", Floors())
    with pytest.raises(OwnerConsentRequired, match=r"carried 1 times in a row and this client allows 0"):
        check_again(carried, checked.roster, checked.codec, "client-00", Floors(carries=0))
