"""Rounds under a trust region: an average that moves too far keeps the old theta, and counts as opened."""

import numpy as np
import pytest

from fgpr.errors import (
    CohortRefused,
    OwnerConsentRequired,
    VerificationError,
)
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord
from fgpr.secagg.stages import Event, Stage
from support.federation import Federation
from support.groups import FIVE, audited, federation, run

STEP = FIVE.model_copy(update={"largest_step": 0.25})


def at(made: Federation, *values: float) -> dict[str, tuple[list[float], int]]:
    return {name: (list(values), 5) for name in made.names}


def test_an_average_outside_the_trust_region_is_kept_from_being_a_prior_and_counts_as_opened() -> None:
    made = federation(STEP)
    start = made.prior.vector()
    record = run(made, at(made, *(start + 0.2)))
    assert record.reason == "averaged"
    before = made.prior
    kept = run(made, at(made, *(record.vector() + np.array([0.1, 0.3, -0.1]))))
    assert (kept.reason, kept.theta, kept.version, kept.theta_version) == ("kept", before.theta, 2, 1)
    assert made.now.stage is Stage.CARRIED
    assert made.now.unmasked is not None
    told = publication.step_refusal(before, made.now.plan.message, made.now.unmasked.average)
    assert told == "the average moves noise sd by 0.3; the largest step is 0.25"
    trail = audited(made)
    assert [signed.message.reason for signed, _ in trail.priors.values()] == ["initial", "averaged", "kept"]
    # Every member opened a cohort of this theta: another one differs in no group by fewer than K + 2.
    made.plan()
    for name in made.names:
        made.contribute(name, before.vector())
    victim = made.now.plan.message.parts(made.names)[0][0]
    smaller = made.cohort_of([name for name in made.names if name != victim])
    with pytest.raises(CohortRefused) as refused:
        made.ask("client-09", made.view("client-09", smaller))
    assert refused.value.check == 10
    assert made.close() is not None
    for name in made.names:
        made.open(name)
    assert made.finish().reason == "averaged"
    audited(made)


def test_after_two_in_a_row_the_owner_is_asked() -> None:
    made = federation(STEP)
    far = made.prior.vector() + 0.5
    for _ in range(2):
        assert run(made, at(made, *far)).reason == "kept"
    made.plan()
    with pytest.raises(OwnerConsentRequired):
        made.check("client-00")


def test_without_one_that_came_before_the_group_that_misses_a_client_is_left_out_after_a_kept_round() -> None:
    made = federation(STEP)
    run(made, at(made, *(made.prior.vector() + 0.5)))
    plan = made.plan().message
    part = plan.parts(made.names)[2]
    for name in made.names:
        if name != part[0]:
            made.contribute(name, np.zeros(3))
    cohort = made.close()
    assert cohort is not None
    assert [len(each) for each in plan.parts(cohort.clients())] == [5, 5, 0, 5, 5]
    for name in made.names:
        made.open(name)
    assert made.now.stage is Stage.OPENING
    made.abort(Event.SUM_REFUSED)


@pytest.mark.parametrize("reason", ["averaged", "kept"])
def test_an_operator_that_applies_the_trust_region_as_it_likes_does_not_pass_an_audit(reason: str) -> None:
    made = federation(STEP)
    made.plan()
    far = 0.5 if reason == "averaged" else 0.1
    for name in made.names:
        made.contribute(name, made.prior.vector() + far)
    made.close()
    for name in made.names:
        made.open(name)
    changed = "kept" if reason == "averaged" else "averaged"
    before = made.prior
    honest = made.finish()
    assert honest.reason == changed
    state = made.now
    assert state.unmasked is not None
    lie = {
        "averaged": {"reason": "averaged", "theta_version": 1, "theta": tuple(state.unmasked.average.tolist())},
        "kept": {"reason": "kept", "theta_version": 0, "theta": before.theta},
    }[reason]
    forged = PriorRecord.model_validate(dict(honest) | lie)
    assert state.cohort is not None
    with pytest.raises(VerificationError, match=f"prior 1 is {reason}"):
        publication.verify_recomputed(forged, state.plan.message, state.cohort.message, before)
