import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from aggregator.deadlines import Deadlines
from aggregator.keys import KeyDirectory
from aggregator.service import federations
from aggregator.storage import rounds as stored
from fgpr.errors import FgprError
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support.aggregator import CONTRIBUTE_SECONDS, OPEN_SECONDS, Aggregator, served, settings_of, wait_until


@pytest.fixture
def five(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    """One that keeps its deadlines and waits for five clients, of which one may be missed."""
    with served(tmp_path, settings_of(min_clients=5), url=database_url) as made:
        yield made


def test_a_client_that_dies_stops_nothing(five: Aggregator) -> None:
    keeping, parties = five, five.enrol(5)
    wait_until(lambda: keeping.last_round() == 1)
    start = parties[0].prior().prior.message.vector()
    shifts, weights = (0.1, 0.3, -0.2, 0.2), (10, 30, 5, 7)
    for party, shift, weight in zip(parties, shifts, weights, strict=False):
        party.contribute(start + shift, weight)
    # The fifth never posts, and nobody sends anything more.
    keeping.clock.forward(CONTRIBUTE_SECONDS - 1)
    assert keeping.round(1).stage is Stage.CONTRIBUTING
    keeping.clock.forward(1)
    wait_until(lambda: keeping.round(1).stage is Stage.OPENING)
    cohort = keeping.round(1).cohort
    assert cohort is not None
    assert cohort.message.clients() == {"client-00", "client-01", "client-02", "client-03"}
    for party in parties[:4]:
        party.open()
    assert keeping.round(1).stage is Stage.OPENING
    keeping.clock.forward(OPEN_SECONDS)
    wait_until(lambda: keeping.round(1).stage is Stage.PUBLISHED)
    expected = start + np.dot(shifts, weights) / np.sum(weights)
    # Within half a step of the encoding: (upper - lower) / (2^30 - 1) / 2, and the widest bounds are 11.6 apart.
    np.testing.assert_allclose(keeping.prior().vector(), expected, atol=6e-9, rtol=0)


def test_too_few_contributions_abort_and_the_old_prior_is_served(tmp_path: Path, database_url: str) -> None:
    rules = AggregationRules(min_cohort=4)
    with served(tmp_path, settings_of(rules=rules), url=database_url) as keeping:
        parties = keeping.enrol(4)
        wait_until(lambda: keeping.last_round() == 1)
        before = parties[0].prior()
        for party in parties[:3]:
            party.contribute()
        keeping.clock.forward(CONTRIBUTE_SECONDS)
        wait_until(lambda: keeping.round(1).stage is Stage.ABORTED)
        assert keeping.round(1).reason == "3 contributions could be counted, 4 are needed"
        assert parties[0].prior() == before


def test_one_federation_that_cannot_go_on_stops_no_other(keeping: Aggregator) -> None:
    keys = KeyDirectory(keeping.settings.keys)
    # Earlier in order, and no round of its four clients is safe: its next round is refused again and again.
    unsafe = settings_of("aaa", AggregationRules(min_cohort=5))
    federations.create(keeping.context, unsafe, keys.ensure_roster("aaa"))
    own = keeping.federation
    with capture_logs() as logs:
        keeping.federation = unsafe
        keeping.enrol(4)
        keeping.federation = own
        keeping.enrol(4, first=10)
        wait_until(lambda: keeping.last_round() == 1)
        keeping.clock.forward(CONTRIBUTE_SECONDS)
        wait_until(lambda: keeping.last_round() == 2)
    assert keeping.round(1).stage is Stage.ABORTED
    told = [line for line in logs if line["event"] == "deadlines"]
    # Said once, not at each tick.
    assert [(line["federation"], line["error"]) for line in told] == [("aaa", "CommitteeError")]
    assert "min_cohort 5 is more than the 4 invited" in told[0]["reason"]
    with keeping.context.database.read() as connection:
        assert stored.read_last(connection, "aaa") is None


def test_what_nobody_foresaw_does_not_end_the_thread(aggregator: Aggregator) -> None:
    faults = iter([RuntimeError("secret"), FgprError("told"), ZeroDivisionError("secret")])

    def clock() -> object:
        for fault in faults:
            raise fault
        return aggregator.clock()

    aggregator.enrol(4)
    context = dataclasses.replace(aggregator.context, clock=clock)  # type: ignore[arg-type]
    with capture_logs() as logs:
        deadlines = Deadlines(context, 0.01)
        deadlines.start()
        wait_until(lambda: aggregator.last_round() == 1)
        deadlines.stop()
    assert [(line["error"], line["reason"]) for line in logs] == [
        ("RuntimeError", "unforeseen"),
        ("FgprError", "told"),
        ("ZeroDivisionError", "unforeseen"),
    ]
    aggregator.clock.forward(CONTRIBUTE_SECONDS)
    assert aggregator.round(1).stage is Stage.CONTRIBUTING


def test_what_became_due_while_no_process_ran_is_done_at_once(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    aggregator.advance()
    aggregator.clock.forward(30 * 86_400)
    replicas = [Deadlines(aggregator.second_replica(), 0.01) for _ in range(3)]
    for replica in replicas:
        replica.start()
    wait_until(lambda: aggregator.last_round() == 2)
    for replica in replicas:
        replica.stop()
        replica._context.database.close()
    assert aggregator.kinds()[-3:] == ["plan", "aborted", "plan"]


@pytest.mark.parametrize("answered", [0, 1, 3])
def test_fewer_openings_than_the_threshold_never_publish(keeping: Aggregator, answered: int) -> None:
    parties = keeping.enrol(4)
    wait_until(lambda: keeping.last_round() == 1)
    for party in parties:
        party.contribute()
    for party in parties[:answered]:
        assert party.open().counted
    keeping.clock.forward(OPEN_SECONDS + CONTRIBUTE_SECONDS)
    wait_until(lambda: keeping.round(1).stage is Stage.ABORTED)
    assert keeping.round(1).reason == f"{answered} members opened, 4 are needed"
    assert keeping.prior().version == 0
