from typing import Any

from fgpr.secagg.history import Floors, History, PastRound
from fgpr.secagg.messages import Cohort, CohortMember, LogPosition, Plan
from support import samples

PLAN = samples.federation().now.plan.message
ROSTER = samples.federation().roster.message
EMPTY = Cohort(
    federation="engines", round=1, plan=bytes(32), checkpoint=LogPosition(size=0, root=bytes(32)), members=()
)
FULL = EMPTY.model_copy(update={"members": (CohortMember(client="client-00", header=bytes(32)),)})


def past(number: int, prior: int, theta: int, opened: Cohort | None = None, **changes: Any) -> PastRound:
    plan: Plan = PLAN.model_copy(update={"round": number, "prior_version": prior, "theta_version": theta} | changes)
    return PastRound(plan, ROSTER, opened=opened)


HISTORY = History(rounds=(past(1, 4, 4, FULL), past(2, 5, 4, EMPTY), past(3, 5, 4), past(4, 6, 6, FULL)))


def test_the_floors_are_those_of_the_protocol() -> None:
    assert Floors() == Floors(gamma=0.2, min_cohort=3, committee=3, weight_cap=65_535, carries=1)


def test_a_round_is_found_by_its_number() -> None:
    found = HISTORY.round(3)
    assert found is not None
    assert found.plan.round == 3
    assert HISTORY.round(9) is None


def test_opened_cohorts_of_a_theta_are_those_that_count_somebody() -> None:
    assert [(each.plan.round, cohort) for each, cohort in HISTORY.opened_for(4)] == [(1, FULL)]
    assert [each.plan.round for each, _ in HISTORY.opened_for(6)] == [4]
    assert HISTORY.opened_for(5) == ()


def test_the_round_before_a_carry_is_the_last_of_an_earlier_prior_version() -> None:
    for plan, expected in [(past(5, 6, 4).plan, 3), (past(5, 5, 4).plan, 1), (past(5, 7, 6).plan, 4)]:
        found = HISTORY.carried_into(plan)
        assert found is not None
        assert found.plan.round == expected
    assert HISTORY.carried_into(past(5, 4, 4).plan) is None
    assert HISTORY.carried_into(past(5, 7, 7).plan) is None


def test_a_new_client_remembers_nothing() -> None:
    empty = History()
    assert (empty.rounds, empty.last_round, empty.checkpoint, dict(empty.serials)) == ((), 0, None, {})
    assert empty.carried_into(PLAN) is None
