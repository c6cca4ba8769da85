"""Members that opened the cohort of a round that was then proven void: its sum is none to compare with."""

import dataclasses

import numpy as np
import pytest

from fgpr.errors import CohortRefused
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort
from fgpr.secagg.stages import Event, Stage
from support.client import PlanChecked
from support.federation import Federation


def void_after_two_opened() -> Federation:
    """Ten clients, t = 8: two opened the cohort of ten, the others proved the round void."""
    made = Federation(10)
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    for name in made.names[:2]:
        made.open(name)
    made.abort(Event.TOO_FEW_OPENINGS)
    for name in made.names[2:]:
        made.open(name)
    assert made.settle() is Stage.VOID
    return made


def test_whoever_opened_a_round_that_was_proven_void_opens_the_next_one_without_a_client() -> None:
    made = void_after_two_opened()
    made.plan()
    for name in made.names[:9]:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    made.close()
    for name in made.names:
        made.open(name)
    assert len(made.now.openings) == 10
    made.abort(Event.TOO_FEW_OPENINGS)
    assert made.settle() is Stage.CARRIED
    # After a carry, the void round is none to compare with still; the opened one is.
    made.plan()
    for name in made.names[:9]:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    nine, eight = made.cohort_of(made.names[:9]), made.cohort_of(made.names[:8])
    with pytest.raises(CohortRefused, match="differ by 1 client"):
        made.ask("client-00", made.view("client-00", eight))
    made.ask("client-00", made.view("client-00", nine))


def test_without_the_proof_a_round_that_was_opened_is_compared_with() -> None:
    made = void_after_two_opened()
    made.plan()
    for name in made.names[:9]:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)
    cohort, client = made.cohort_of(made.names[:9]), made.clients["client-00"]
    view, plan = made.view("client-00", cohort), made.now.plan.message
    # What a client remembers that took the plan under weaker checks than today's.
    for place, record in enumerate(client.journal):
        if isinstance(record, PlanChecked) and record.plan == plan:
            unproven = plan.model_copy(update={"void": (plan.void[0].model_copy(update={"openings": ()}),)})
            client.journal[place] = dataclasses.replace(record, plan=unproven)
    made.now.plan = made.signed(unproven)
    moved = Signed[Cohort].make(
        made.service_key, cohort.message.model_copy(update={"plan": made.now.plan.message.digest()})
    )
    with pytest.raises(CohortRefused, match="differ by 1 client"):
        made.ask("client-00", view.model_copy(update={"cohort": moved}))
