"""A revoked client is counted by nobody, however long the roster stays that still names it."""

import numpy as np
import pytest

from fgpr import merkle
from fgpr.errors import CohortRefused
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.log_span import LogSpan, span_start
from fgpr.secagg.messages import Cohort
from fgpr.secagg.stages import Event, Stage
from support.federation import Federation

GONE = "client-04"


def contribute(made: Federation) -> None:
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.1, 0.2, 0.3]), 2)


def close_over_all(made: Federation) -> Signed[Cohort]:
    """What a malicious aggregator closes: everybody, revoked or not, at the present checkpoint."""
    plan = made.now.plan.message
    headers = {name: sent.header.message for name, sent in made.now.contributions.items()}
    cohort = opening.cohort_of(plan, plan.digest(), headers, made.log.position())
    return Signed[Cohort].make(made.service_key, cohort)


def assert_nobody_opens(made: Federation, cohort: Signed[Cohort]) -> None:
    for name in made.names:
        with pytest.raises(CohortRefused, match=f"{GONE} revoked before the cohort's checkpoint") as refused:
            made.ask(name, made.view(name, cohort))
        assert refused.value.check == 6
        assert made.clients[name].history().rounds[-1].opened is None


def publish(made: Federation) -> None:
    for name in made.names:
        made.open(name)
    made.finish()


def test_revoked_between_the_roster_and_the_plan() -> None:
    made = Federation(5)
    made.revoke(GONE)
    contribute(made)
    assert GONE in made.now.plan.message.invited
    assert_nobody_opens(made, close_over_all(made))
    assert made.close() is not None
    publish(made)


def test_revoked_while_the_theta_is_carried() -> None:
    made = Federation(5)
    made.plan()
    made.abort(Event.TOO_FEW_CONTRIBUTIONS)
    assert made.settle() is Stage.CARRIED
    made.revoke(GONE)
    contribute(made)
    assert made.now.plan.message.roster_version == 1
    assert_nobody_opens(made, close_over_all(made))
    assert made.close() is not None
    publish(made)


@pytest.mark.parametrize("restart", [False, True])
def test_each_leaf_is_read_once_and_whom_it_revokes_stays_known(restart: bool) -> None:
    made = Federation(5)
    made.revoke(GONE)
    contribute(made)
    assert made.close() is not None
    read = made.now.cohort
    assert read is not None
    publish(made)
    # The aggregator does not renew the roster; the leaf that revokes lies before where members read on.
    contribute(made)
    if restart:
        made.clients = {name: client.restarted() for name, client in made.clients.items()}
    for name in made.names:
        checked, history = made.check(name), made.clients[name].history()
        assert span_start(checked, history) == read.message.checkpoint
        assert history.revocations is not None
        assert history.revocations.clients == {GONE}
    # Cohort, prior and plan: the leaves since then.
    span = made.log.span(read.message.checkpoint, close_over_all(made).message, None)
    assert len(span.leaves) == 3
    assert_nobody_opens(made, close_over_all(made))
    made.close()
    publish(made)


def test_revoked_after_what_was_read_before() -> None:
    made = Federation(5)
    contribute(made)
    made.close()
    publish(made)
    made.revoke(GONE)
    contribute(made)
    assert_nobody_opens(made, close_over_all(made))


def test_a_new_roster_is_read_on_from_its_own_checkpoint() -> None:
    made = Federation(5)
    contribute(made)
    made.close()
    publish(made)
    made.revoke("client-00")
    made.roster = made.new_roster(2)
    made.revoke(GONE)
    made.plan()
    for name in made.names[1:]:
        made.contribute(name, np.zeros(3))
    me = made.names[1]
    assert span_start(made.check(me), made.clients[me].history()) == made.roster.message.checkpoint
    with pytest.raises(CohortRefused, match=f"{GONE} revoked"):
        made.ask(me, made.view(me, close_over_all(made)))


@pytest.mark.parametrize("later", [1, 2])
def test_leaves_from_later_on_are_refused(later: int) -> None:
    # The aggregator keeps the revocation to itself and lets the leaves begin after it, at the plan's for one.
    made = Federation(5)
    made.revoke(GONE)
    contribute(made)
    cohort, tree = close_over_all(made), made.log.tree()
    span = LogSpan(merkle.frontier(later, tree.node), made.log.leaves[later : cohort.message.checkpoint.size])
    with pytest.raises(CohortRefused, match="does not start at the 0 leaves") as refused:
        made.ask("client-00", made.view("client-00", cohort), span)
    assert refused.value.check == 6


def test_leaves_from_later_on_are_refused_in_a_later_round_too() -> None:
    made = Federation(5)
    contribute(made)
    made.close()
    publish(made)
    made.revoke(GONE)
    contribute(made)
    cohort, start = close_over_all(made), made.now.plan.message.checkpoint.size
    tree = made.log.tree()
    span = LogSpan(merkle.frontier(start, tree.node), made.log.leaves[start : cohort.message.checkpoint.size])
    with pytest.raises(CohortRefused, match="does not start at the 2 leaves"):
        made.ask("client-00", made.view("client-00", cohort), span)


def test_a_cohort_from_before_the_revocation_was_read_is_refused() -> None:
    # Signed for the newest plan, at a checkpoint at which nobody was revoked.
    made = Federation(5)
    early = made.log.position()
    made.revoke(GONE)
    contribute(made)
    made.close()
    publish(made)
    contribute(made)
    backdated = close_over_all(made).message.model_copy(update={"checkpoint": early})
    cohort = Signed[Cohort].make(made.service_key, backdated)
    with pytest.raises(CohortRefused, match="lies before what this member has read") as refused:
        made.ask("client-00", made.view("client-00", cohort))
    assert refused.value.check == 6
