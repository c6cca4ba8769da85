"""After an abort: void rounds, whose prior serves again, and carried ones with the rule on differences."""

import numpy as np
import pytest

from fgpr.errors import CohortRefused, OwnerConsentRequired, PlanRefused
from fgpr.message import Signed
from fgpr.secagg.history import Floors
from fgpr.secagg.messages import Plan, VoidProof
from fgpr.secagg.stages import Event, Stage
from support.federation import Federation


def half_opened(size: int, openers: int) -> Federation:
    """Everybody contributed to round 1, and some opened it."""
    made = Federation(size)
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    for name in made.names[:openers]:
        made.open(name)
    return made


def aborted(size: int, openers: int) -> Federation:
    """The same, aborted for too few openings."""
    made = half_opened(size, openers)
    made.abort(Event.TOO_FEW_OPENINGS)
    return made


def void_round() -> Federation:
    """Five clients, t = 4: one opened the cohort, the other four the empty one."""
    made = aborted(5, openers=1)
    for name in made.names[1:]:
        made.open(name)
    assert made.settle() is Stage.VOID
    return made


def test_who_opened_the_cohort_never_answers_the_empty_one_nor_the_other_way_round() -> None:
    made = half_opened(5, openers=1)
    cohort, kept = made.now.cohort, dict(made.now.contributions)
    assert cohort is not None
    made.abort(Event.TOO_FEW_OPENINGS)
    with pytest.raises(CohortRefused) as refused:
        made.open("client-00")
    assert refused.value.check == 9
    for name in made.names[1:]:
        made.open(name)
    assert made.settle() is Stage.VOID
    # An aggregator that erased nothing asks again, and after a restart once more: void is for good.
    for _ in range(2):
        for name in made.names[1:]:
            with pytest.raises(CohortRefused) as refused:
                made.ask(name, made.view(name, cohort, kept))
            assert refused.value.check == 9
        made.clients = {name: client.restarted() for name, client in made.clients.items()}


def test_after_a_void_round_the_same_prior_serves_the_next_one() -> None:
    made = void_round()
    plan = made.plan().message
    assert (plan.round, plan.prior_version, len(plan.void)) == (2, 0, 1)
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    for name in made.names:
        made.open(name)
    assert made.finish().version == 1


def broken_proofs(proof: VoidProof) -> list[tuple[VoidProof, ...]]:
    return [
        (),
        (proof.model_copy(update={"openings": proof.openings[:3]}),),
        (proof.model_copy(update={"openings": (*proof.openings[:3], proof.openings[0])}),),
    ]


@pytest.mark.parametrize("number", range(3))
def test_whoever_contributed_wants_the_proof_and_whoever_did_not_needs_none(number: int) -> None:
    made = void_round()
    proof = made.plan().message.void[0]
    del made.rounds[2]
    made.plan(void=broken_proofs(proof)[number])
    for name in made.names:
        with pytest.raises(PlanRefused) as refused:
            made.contribute(name, np.zeros(3))
        assert refused.value.check == 4
    # A client whose journal knows of no contribution risks nothing.
    made.clients["client-04"].journal.clear()
    made.check("client-04")


def test_a_round_to_which_nobody_contributed_needs_no_settling() -> None:
    made = Federation(4)
    made.plan()
    for name in made.names:
        made.check(name)
    made.close()
    assert made.now.stage is Stage.ABORTED
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))


def test_two_void_rounds_of_one_prior_need_both_proofs() -> None:
    made = void_round()
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    made.close()
    made.abort(Event.TOO_FEW_OPENINGS)
    for name in made.names:
        made.open(name)
    made.settle()
    plan = made.plan().message
    assert len(plan.void) == 2
    made.check("client-00")
    del made.rounds[3]
    made.plan(void=plan.void[:1])
    with pytest.raises(PlanRefused, match="round 2, to which this client contributed, is not proven void"):
        made.check("client-01")
    del made.rounds[3]
    made.plan(void=plan.void[::-1])
    made.check("client-02")


def carried(size: int, openers: int) -> Federation:
    """Round 1 was opened by some and could not be proven void: its theta is now version 1, and round 2 is planned."""
    made = aborted(size, openers)
    assert made.settle() is Stage.CARRIED
    assert (made.prior.version, made.prior.theta_version, made.prior.reason) == (1, 0, "carried")
    made.plan()
    return made


def test_a_carried_round_with_the_same_clients_is_opened() -> None:
    made = carried(6, openers=3)
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    for name in made.names:
        made.open(name)
    assert made.finish().version == 2


def test_leaving_out_one_client_is_avoided_by_the_aggregator_and_refused_by_members() -> None:
    made = carried(6, openers=3)
    for name in made.names[:5]:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    # Signed and shown all the same: the sum of five beside that of six would be one client's vector.
    five = made.cohort_of(made.names[:5])
    for name in made.names[:3]:
        with pytest.raises(CohortRefused, match="differ by 1 client") as refused:
            made.ask(name, made.view(name, five))
        assert refused.value.check == 10
    cohort = made.close()
    assert cohort is not None
    # K + 2 = 3 are left out: the one that did not come, and two more.
    assert len(cohort.members) == 3
    for name in made.names:
        made.open(name)
    assert made.finish().version == 2


def test_leaving_out_too_many_to_be_safe_and_too_few_to_stay_aborts() -> None:
    made = carried(5, openers=2)
    for name in made.names[:4]:
        made.contribute(name, np.zeros(3))
    assert made.close() is None
    assert made.now.stage is Stage.ABORTED


def test_leaving_out_k_plus_two_is_accepted() -> None:
    made = carried(6, openers=3)
    for name in made.names[:3]:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    cohort = made.close()
    assert cohort is not None
    assert cohort.clients() == set(made.names[:3])
    for name in made.names:
        made.open(name)
    assert made.finish().version == 2


def test_a_new_client_is_not_added_to_a_carried_theta() -> None:
    # Round 1 counted five of six; the sixth alone would be the difference.
    made = Federation(6)
    made.plan()
    for name in made.names[:5]:
        made.contribute(name, np.zeros(3))
    made.close()
    for name in made.names[:3]:
        made.open(name)
    made.abort(Event.TOO_FEW_OPENINGS)
    made.settle()
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    six = made.cohort_of(made.names)
    with pytest.raises(CohortRefused, match="differ by 1 client"):
        made.ask("client-00", made.view("client-00", six))
    cohort = made.close()
    assert cohort is not None
    assert cohort.clients() == set(made.names[:5])


def test_a_carried_plan_for_another_committee_is_refused_by_whoever_contributed() -> None:
    # A fresh nonce could draw members who never saw the first cohort; none of these clients opened it.
    made = carried(6, openers=0)
    made.roster = made.new_roster(2)
    del made.rounds[2]
    made.plan()
    for name in made.names:
        with pytest.raises(PlanRefused, match="roster changed while its theta was carried") as refused:
            made.contribute(name, np.zeros(3))
        assert refused.value.check == 7


def test_a_second_carry_asks_the_owner() -> None:
    made = carried(6, openers=3)
    for name in made.names:
        made.contribute(name, np.zeros(3))
    made.close()
    made.abort(Event.TOO_FEW_OPENINGS)
    made.settle()
    assert (made.prior.version, made.prior.theta_version) == (2, 0)
    made.plan()
    for name in made.names:
        with pytest.raises(OwnerConsentRequired, match="Ask the owner"):
            made.contribute(name, np.zeros(3))
    made.clients["client-00"].floors = Floors(carries=2)
    made.contribute("client-00", np.zeros(3))


def test_a_second_plan_of_one_round_is_refused_whatever_it_says() -> None:
    made = Federation(4)
    first = made.plan().message
    made.contribute("client-00", np.zeros(3))
    second = first.model_copy(update={"spare": 2})
    made.now.plan = Signed[Plan].make(made.service_key, second)
    with pytest.raises(PlanRefused) as refused:
        made.check("client-00")
    assert refused.value.check == 2
    # The other clients, shown the second plan first, contribute to that one; their members then answer for it alone.
    for name in made.names[1:]:
        made.contribute(name, np.zeros(3))
    three = made.cohort_of(made.names[1:])
    with pytest.raises(PlanRefused):
        made.ask("client-00", made.view("client-00", three))


def test_a_prior_does_not_come_back_after_a_newer_one() -> None:
    made = Federation(4)
    made.run({name: ([0.0, 0.0, 0.0], 1) for name in made.names})
    made.plan()
    made.check("client-00")
    made.priors.append(made.priors[0])
    made.plan()
    with pytest.raises(PlanRefused) as refused:
        made.check("client-00")
    assert refused.value.check == 3
