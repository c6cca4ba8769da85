"""A malicious aggregator that opens several plans of one prior version, to combine their sums."""

import numpy as np
import pytest

from fgpr.errors import PlanRefused
from fgpr.secagg.stages import Event, Stage
from support.colluding import four_cohorts
from support.federation import Federation

UPDATE = np.array([0.1, 0.2, 0.3])


def test_the_second_of_four_cohorts_that_isolate_a_client_gets_too_few_answers() -> None:
    answers, threshold = four_cohorts()
    assert answers == [45, 27]
    assert threshold == 45


@pytest.mark.parametrize(("size", "x", "counted"), [(5, 1, 3), (6, 1, 3), (10, 2, 4), (11, 2, 4)])
def test_one_prior_version_opens_one_sum_however_members_are_split(size: int, x: int, counted: int) -> None:
    # x members answer everything. Honest ones: some contribute to the first plan, the first `asked` open its cohort.
    for asked in range(size - x + 1):
        made = Federation(size)
        threshold = made.plan().message.threshold
        honest = made.names[x:]
        for name in made.names[:counted]:
            made.contribute(name, UPDATE)
        made.close()
        cohort = made.cohort_of(made.names[:counted])
        for name in honest[::-1][:asked]:
            made.ask(name, made.view(name, cohort))
        made.abort(Event.TOO_FEW_OPENINGS)
        made.plan()
        second = x
        for name in honest:
            try:
                made.contribute(name, UPDATE)
            except PlanRefused:
                continue
            second += 1
        assert min(asked + x, second) < threshold


def test_a_member_that_opened_goes_on_once_the_round_is_proven_void() -> None:
    made = Federation(10)
    made.plan()
    for name in made.names[:4]:
        made.contribute(name, UPDATE)
    made.close()
    cohort = made.cohort_of(made.names[:4])
    made.ask("client-09", made.view("client-09", cohort))
    made.abort(Event.TOO_FEW_OPENINGS)
    for name in made.names[:8]:
        made.open(name)
    assert made.settle() is Stage.VOID
    proof = made.plan().message.void
    del made.rounds[2]
    made.plan(void=())
    with pytest.raises(PlanRefused, match="round 1, of which this client opened a cohort, is not proven void"):
        made.check("client-09")
    del made.rounds[2]
    made.plan(void=proof)
    made.contribute("client-09", UPDATE)
