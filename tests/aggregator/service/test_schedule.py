from pathlib import Path

import numpy as np
import pytest

from aggregator.service import enrolment, schedule
from aggregator.storage import rounds as stored
from fgpr import canonical
from fgpr.errors import CommitteeError, Conflict, PlanRefused
from fgpr.rest import RoundView
from fgpr.secagg.opening import HASH_ORDER_LABEL
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, settings_of, together
from support.client import NAME
from support.party import Party


def aborted_with_contributions(aggregator: Aggregator, count: int = 4) -> list[Party]:
    """Round 1 closed and nobody opened it."""
    parties = aggregator.enrol(count)
    aggregator.advance()
    for party in parties:
        party.contribute()
    assert aggregator.round(1).stage is Stage.OPENING
    aggregator.clock.forward(600)
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.ABORTED
    return parties


def published(parties: list[Party]) -> None:
    """The newest round, taken to its end."""
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()


def test_a_void_round_serves_the_same_prior_again(aggregator: Aggregator) -> None:
    parties = aborted_with_contributions(aggregator)
    assert aggregator.last_round() == 1
    for party in parties[:3]:
        assert party.open_nothing(1).counted
    assert aggregator.round(1).stage is Stage.ABORTED
    parties[3].open_nothing(1)
    assert aggregator.round(1).stage is Stage.VOID
    plan = parties[0].plan().message
    assert (plan.round, plan.prior_version) == (2, 0)
    (proof,) = plan.void
    assert proof.cohort == aggregator.round(1).empty_cohort
    assert [opening.message.client for opening in proof.openings] == [party.name for party in parties]
    # Whoever contributed before does so again: the proof satisfies its own checks.
    published(parties)
    assert aggregator.round(2).stage is Stage.PUBLISHED
    assert aggregator.steps()[2:] == ["plan", "cohort", "aborted", "void", "plan", "cohort", "prior", "plan"]


def test_an_opened_cohort_keeps_a_round_from_being_void(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties:
        party.contribute()
    for party in parties[:2]:
        party.open()
    aggregator.clock.forward(600)
    aggregator.pass_opening()
    # Both opened the cohort; the other two are fewer than the threshold, for good.
    for party in parties[2:]:
        assert party.open_nothing(1).counted
    assert aggregator.round(1).stage is Stage.ABORTED
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.CARRIED
    # One fewer would be told apart from the others: three are enough by number, and none of them is counted.
    for party in parties[:3]:
        party.contribute()
    aggregator.pass_contributing()
    told = aggregator.round(2).reason or ""
    assert told.startswith("3 contributions could be counted, 3 are needed; an earlier sum from the same numbers may")
    assert told.endswith("all of them, or at least 3 fewer")


def test_nobody_contributed_so_the_next_round_opens_at_once(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    aggregator.pass_contributing()
    assert aggregator.last_round() == 2
    plan = parties[0].plan().message
    assert (plan.prior_version, plan.void) == (0, ())
    assert [one.plan.message.round for one in parties[0].view().aborted] == [1]


def test_who_wrote_a_contribution_needs_the_void_proof(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    aggregator.advance()
    parties[0].contribution()
    for party in parties[1:]:
        party.check()
    aggregator.pass_contributing()
    with pytest.raises(PlanRefused, match="not proven void"):
        parties[0].contribute()
    for party in parties[1:]:
        party.open_nothing(1)
    assert aggregator.round(1).stage is Stage.VOID
    # The running plan stays as it is; the next one carries the proof.
    assert parties[1].plan().message.void == ()
    aggregator.pass_contributing()
    assert len(parties[0].plan().message.void) == 1
    assert parties[0].contribute().round == 3


def test_a_round_that_is_not_proven_void_is_carried(aggregator: Aggregator) -> None:
    parties = aborted_with_contributions(aggregator)
    for party in parties[:2]:
        party.open_nothing(1)
    aggregator.clock.forward(899)
    aggregator.advance()
    assert aggregator.round(1).stage is Stage.ABORTED
    aggregator.clock.forward(1)
    aggregator.advance()
    assert aggregator.round(1).stage is Stage.CARRIED
    carried = aggregator.prior()
    assert (carried.version, carried.theta_version, carried.reason, carried.round) == (1, 0, "carried", 1)
    np.testing.assert_array_equal(carried.vector(), parties[0].prior(0).prior.message.vector())
    plan = parties[0].plan().message
    assert (plan.round, plan.prior_version, plan.theta_version, plan.void) == (2, 1, 0, ())
    published(parties)
    assert (aggregator.prior().version, aggregator.prior().theta_version) == (2, 2)


def test_the_roster_stays_while_a_theta_is_carried(aggregator: Aggregator) -> None:
    parties = aborted_with_contributions(aggregator)
    newcomer = aggregator.party("newcomer")
    newcomer.enrol()
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.CARRIED
    plan = parties[0].plan().message
    assert (plan.round, plan.roster_version) == (2, 1)
    assert "newcomer" not in plan.invited
    published(parties)
    plan = parties[0].plan().message
    assert (plan.round, plan.roster_version) == (3, 2)
    assert "newcomer" in plan.invited
    assert aggregator.kinds().count("roster") == 2


def test_a_carried_roster_without_clients_opens_no_rounds(aggregator: Aggregator) -> None:
    parties = aborted_with_contributions(aggregator)
    aggregator.enrol(4, first=10)
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.CARRIED
    for party in parties:
        enrolment.revoke(aggregator.context, NAME, party.name)
    # All whom the roster knows are gone: the running round ends, and no further one begins for nobody.
    aggregator.advance()
    assert aggregator.round(2).stage is Stage.ABORTED
    assert aggregator.last_round() == 2


def test_after_a_carry_nobody_can_be_told_apart(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(min_clients=8), keeps_deadlines=False, url=database_url) as aggregator:
        parties = aborted_with_contributions(aggregator, 8)
        aggregator.pass_opening()
        assert aggregator.round(1).stage is Stage.CARRIED
        for party in parties[:7]:
            party.contribute()
        aggregator.pass_contributing()
        cohort = aggregator.round(2).cohort
        assert cohort is not None
        # One is missing, and K + 2 = 3 have to be: the two last in hash order stay out too.
        order = sorted((p.name for p in parties[:7]), key=lambda name: canonical.digest(HASH_ORDER_LABEL, [2, name]))
        assert cohort.message.clients() == set(order[:5])
        # The members' own check of the difference holds.
        for party in parties[:7]:
            party.open()
        assert aggregator.round(2).stage is Stage.PUBLISHED
        assert aggregator.prior().opened is not None


def test_a_difference_that_leaves_too_few_aborts(aggregator: Aggregator) -> None:
    parties = aborted_with_contributions(aggregator)
    aggregator.pass_opening()
    for party in parties[:3]:
        party.contribute()
    aggregator.pass_contributing()
    assert aggregator.round(2).stage is Stage.ABORTED
    assert aggregator.prior().version == 1


def test_a_pause_between_rounds(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(every=3600), keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        assert aggregator.last_round() == 1
        published(parties)
        aggregator.clock.forward(3599)
        aggregator.advance()
        assert aggregator.last_round() == 1
        # By hand it is opened all the same, but not twice.
        assert schedule.open_by_hand(aggregator.context, NAME) == 2
        with pytest.raises(Conflict, match="contributing"):
            schedule.open_by_hand(aggregator.context, NAME)


def test_a_last_round(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(most=1), keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        aggregator.pass_contributing()
        # Aborted rounds do not count.
        assert aggregator.last_round() == 2
        published(parties)
        aggregator.clock.forward(86_400)
        aggregator.advance()
        assert aggregator.last_round() == 2
        assert schedule.open_by_hand(aggregator.context, NAME) == 3


def test_no_round_before_enough_clients(aggregator: Aggregator) -> None:
    aggregator.enrol(3)
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    aggregator.advance()
    assert aggregator.last_round() == 0
    # Three are enough for a round by hand; who is revoked does not count.
    enrolment.revoke(aggregator.context, NAME, "client-02")
    with pytest.raises(CommitteeError):
        schedule.open_by_hand(aggregator.context, NAME)
    aggregator.enrol(1, first=3)
    assert schedule.open_by_hand(aggregator.context, NAME) == 1


def test_by_hand_only_when_an_aborted_round_is_settled(aggregator: Aggregator) -> None:
    aborted_with_contributions(aggregator)
    before = aggregator.dump()
    with pytest.raises(Conflict, match="aborted"):
        schedule.open_by_hand(aggregator.context, NAME)
    assert aggregator.dump() == before


def test_an_unsafe_next_round_refuses_no_opening(tmp_path: Path, database_url: str) -> None:
    rules = AggregationRules(min_cohort=4)
    with served(
        tmp_path, settings_of(rules=rules, min_clients=3), keeps_deadlines=False, url=database_url
    ) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        parties[3].open()
        enrolment.revoke(aggregator.context, NAME, "client-03")
        for party in parties[:3]:
            # The last one publishes; that no round can follow is not this member's fault.
            assert party.open().counted
        with pytest.raises(CommitteeError, match="min_cohort 4"):
            aggregator.advance()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        view = RoundView.decode(parties[0].api.get("rounds/current"))
        assert (view.prior_version, view.stage) == (1, Stage.PUBLISHED)


def test_two_replicas_do_each_transition_once(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    replicas = [aggregator.second_replica() for _ in range(2)]

    def both() -> None:
        for result in together([lambda one=one: schedule.advance(one, NAME) for one in (*replicas, *replicas)]):
            assert result is None

    both()
    for party in parties[:3]:
        party.contribute()
    aggregator.clock.forward(600)
    both()
    cohort = aggregator.round(1).cohort
    aggregator.clock.forward(900)
    both()
    aggregator.clock.forward(900)
    both()
    assert aggregator.steps()[1:] == ["roster", "plan", "cohort", "aborted", "prior", "plan"]
    assert aggregator.round(1).cohort == cohort
    for replica in replicas:
        replica.database.close()
    with aggregator.context.database.read() as connection:
        assert stored.read_last(connection, NAME) == aggregator.round(2)
