"""What an aggregator can try with groups: each is refused by the check that is for it, by client and by member."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from fgpr.errors import CohortRefused, EncodingError, PlanRefused
from fgpr.secagg.groups import deal
from fgpr.secagg.history import Floors, PastRound
from fgpr.secagg.messages import Plan
from fgpr.secagg.planning import AggregationRules
from support import cohort_case, plan_case
from support.cohort_case import ME

RULES = AggregationRules(groups=3, combine="median")
"""Twenty clients: groups of 7, 7 and 6, of which 6 have to be there, 4 of them corrupt at most."""

PlanBreak = Callable[[plan_case.Case], None]
CohortBreak = Callable[[cohort_case.Case], None]


def test_the_honest_plan_and_cohort_pass() -> None:
    checked = plan_case.case(20, RULES).check()
    assert [len(part) for part in checked.plan.parts(checked.plan.invited)] == [7, 7, 6]
    assert (checked.committee.corrupt_group, checked.plan.min_cohort) == (4, 6)
    opened = cohort_case.case(20, RULES).open().opening.message
    assert len(opened.sum) == 3 * 4 * 8


def other_deal(made: plan_case.Case) -> None:
    made.change(dealt=deal(made.plan.invited, 3, bytes(32), 0))


def one_client_moved(made: plan_case.Case) -> None:
    first, *others = made.plan.dealt
    made.change(dealt=(first % 3 + 1, *others))


def other_number_of_groups(made: plan_case.Case) -> None:
    # With what the roster's nonce deals, but a second deal of it: the operator could choose the one that suits.
    made.change(round=2)
    made.remember_round(contributed=False, groups=1, dealt=(), combine="mean")


def plan_with(made: plan_case.Case, **fields: object) -> None:
    made.change(**fields)


def most_groups(made: plan_case.Case, groups: int) -> None:
    made.floors = Floors(groups=groups)


PLANS: list[tuple[int, str, PlanBreak]] = [
    (8, "with 4 corrupt in one of 3 groups of 20 invited", partial(plan_with, min_cohort=5)),
    (8, "are 6 in the smallest, and min_cohort is 7", partial(plan_with, min_cohort=7)),
    (8, "are 5 in the smallest", partial(plan_with, groups=4, dealt=(1, 2, 3, 4) * 5)),
    (9, "3 groups are more than this client's 2", partial(most_groups, groups=2)),
    (10, "not the dealt ones", other_deal),
    (10, "not the dealt ones", one_client_moved),
    (10, "the caps, the groups or the kind of draw are not those of round 1", other_number_of_groups),
]


@pytest.mark.parametrize(("check", "reason", "apply"), PLANS, ids=[f"{n}-{r}" for n, r, _ in PLANS])
def test_what_a_client_refuses(check: int, reason: str, apply: PlanBreak) -> None:
    made = plan_case.case(20, RULES)
    apply(made)
    with pytest.raises(PlanRefused, match=reason) as refused:
        made.check()
    assert refused.value.check == check


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dealt": [1, 2, 3]}, "one group of 3 for each"),
        ({"dealt": [4, *[1] * 19]}, "one group of 3 for each"),
        ({"dealt": [0, *[1] * 19]}, "greater than or equal to 1"),
        ({"groups": 1, "combine": "mean"}, "one group of 1 for each"),
        ({"groups": 2}, "2 groups"),
        ({"combine": "mean"}, "3 groups"),
        ({"combine": "mode"}, "combine"),
        ({"largest_step": 0}, "largest_step"),
    ],
)
def test_a_plan_whose_groups_make_no_sense_is_no_message(changes: dict[str, object], reason: str) -> None:
    plan = plan_case.case(20, RULES).plan
    assert Plan.from_json(plan.to_json()) == plan
    with pytest.raises(EncodingError, match=reason):
        Plan.from_json(plan.to_json() | changes)


def part(made: cohort_case.Case, number: int) -> tuple[str, ...]:
    return made.checked.plan.parts(made.federation.names)[number - 1]


def without(made: cohort_case.Case, *gone: str) -> None:
    made.count(*(name for name in made.federation.names if name not in gone))


def group_of_one(made: cohort_case.Case) -> None:
    without(made, *part(made, 2)[1:])


def group_one_below_the_least(made: cohort_case.Case) -> None:
    without(made, *part(made, 1)[:2])


def two_groups(made: cohort_case.Case) -> None:
    without(made, *part(made, 3))


def own_least(made: cohort_case.Case) -> None:
    made.floors = Floors(min_cohort=7)


def in_two_groups(made: cohort_case.Case) -> None:
    # The only way to write it: the client stands twice.
    members = made.view.cohort.message.members
    made.recount(members=(*members, members[0]))


def shown_another_deal(made: cohort_case.Case) -> None:
    other = deal(made.checked.plan.invited, 3, bytes(32), 0)
    made.checked = replace(made.checked, plan=made.checked.plan.model_copy(update={"dealt": other}))
    made.checked = replace(made.checked, digest=made.checked.plan.digest())


def cohort_of_another_deal(made: cohort_case.Case) -> None:
    other = made.checked.plan.model_copy(update={"dealt": deal(made.checked.plan.invited, 3, bytes(32), 0)})
    made.recount(plan=other.digest())


def opened_before(made: cohort_case.Case, *names: str) -> None:
    other = made.federation.cohort_of(names).message
    before = PastRound(made.checked.plan.model_copy(update={"round": 0}), made.checked.roster, opened=other)
    made.remember(rounds=(before, *made.history.rounds))


def one_less_of_one_group(made: cohort_case.Case) -> None:
    opened_before(made, *(name for name in made.federation.names if name != part(made, 1)[0]))


def one_less_of_each_of_two_groups(made: cohort_case.Case) -> None:
    # Six clients in all would be safe in one group; in each of these it is one.
    gone = {part(made, 1)[0], part(made, 2)[0]}
    opened_before(made, *(name for name in made.federation.names if name not in gone))


COHORTS: list[tuple[int, str, CohortBreak]] = [
    (1, "not the one that client-01 remembers", shown_another_deal),
    (3, "another plan", cohort_of_another_deal),
    (4, "stands twice", in_two_groups),
    (5, "1 clients in a group, at least 6", group_of_one),
    (5, "5 clients in a group, at least 6", group_one_below_the_least),
    (5, "6 clients in a group, at least 7", own_least),
    (5, "2 groups, at least 3", two_groups),
    (10, "differ by 1 client", one_less_of_one_group),
    (10, "differ by 1 client", one_less_of_each_of_two_groups),
]


@pytest.mark.parametrize(("check", "reason", "apply"), COHORTS, ids=[f"{n}-{r}" for n, r, _ in COHORTS])
def test_what_a_member_refuses(check: int, reason: str, apply: CohortBreak) -> None:
    made = cohort_case.case(20, RULES)
    apply(made)
    with pytest.raises(CohortRefused, match=reason) as refused:
        made.open()
    assert refused.value.check == check


def test_the_same_cohort_again_and_a_group_more_or_less_pass_the_rule_on_differences() -> None:
    made = cohort_case.case(56, AggregationRules(groups=4, combine="median"))
    remembered = made.history.rounds
    for left_out in ((), part(made, 4)):
        made.remember(rounds=remembered)
        opened_before(made, *(name for name in made.federation.names if name not in left_out))
        assert made.open().opening.message.client == ME
