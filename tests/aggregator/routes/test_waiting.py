"""Long polls of routes/rounds.py: requests that wait for a round to change."""

import threading
import time
from pathlib import Path

import pytest

from aggregator.service import enrolment, schedule, steering
from fgpr.errors import EncodingError, Forbidden
from fgpr.operator_rest import StateRequest
from fgpr.rest import RoundView
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, wait_until
from support.client import NAME
from support.party import Party, refusal


class Waiting:
    """A request that waits in a thread of its own."""

    def __init__(self, party: Party, seen: str, wait: int = 30) -> None:
        self.view: RoundView | None = None
        self.error: Exception | None = None
        self._party, self._params = party, {"seen": seen, "wait": wait}
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self) -> None:
        try:
            self.view = RoundView.decode(self._party.api.get("rounds/current", self._params))
        except Exception as error:
            self.error = error

    def done(self) -> bool:
        return not self.thread.is_alive()


def places_taken(aggregator: Aggregator) -> int:
    semaphore = aggregator.app.state.aggregator.waiting
    return int(semaphore._initial_value - semaphore._value)


def test_a_waiting_request_is_answered_when_the_round_changes(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    seen = parties[0].view().state
    waiting = [Waiting(party, seen) for party in parties[:3]]
    wait_until(lambda: places_taken(aggregator) == 3)
    aggregator.pass_contributing()
    wait_until(lambda: all(one.done() for one in waiting))
    for one in waiting:
        assert one.view is not None
        assert one.view.state != seen
        assert one.view.aborted[0].plan.message.round == 1
    assert places_taken(aggregator) == 0


def test_another_replicas_change_is_seen_too(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    replica = aggregator.second_replica()
    waiting = Waiting(parties[0], parties[0].view().state)
    wait_until(lambda: places_taken(aggregator) == 1)
    aggregator.clock.forward(600)
    schedule.advance(replica, NAME)
    wait_until(waiting.done)
    replica.database.close()
    assert waiting.view is not None
    if waiting.view.stage is Stage.ABORTED:
        # Seen between the replica's two transactions: one round's end, and the next one's beginning.
        assert waiting.view.round == 1
        waiting = Waiting(parties[0], waiting.view.state)
        wait_until(waiting.done)
        assert waiting.view is not None
    assert waiting.view.round == 2
    assert waiting.view.stage is Stage.CONTRIBUTING


def test_a_pause_and_its_end_are_seen_at_once(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    replica = aggregator.second_replica()
    assert party.view().federation_state == "open"
    for asked, shown in (("paused", "paused"), ("resumed", "open"), ("closed", "closed")):
        waiting = Waiting(party, party.view().state)
        wait_until(lambda: places_taken(aggregator) == 1)
        steering.change_state(replica, None, NAME, StateRequest.from_json({"state": asked, "reason": "so"}).encode())
        wait_until(waiting.done)
        assert waiting.view is not None
        assert waiting.view.federation_state == shown
    replica.database.close()


def test_without_a_change_it_is_answered_when_its_time_is_over(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    view = party.view()
    began = time.monotonic()
    waiting = Waiting(party, view.state, wait=1)
    wait_until(waiting.done)
    assert time.monotonic() - began >= 1
    assert waiting.view == view


def test_without_a_free_place_it_is_answered_at_once(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, waiters=1, keeps_deadlines=False, url=database_url) as aggregator:
        first, second = aggregator.enrol(2)
        view = first.view()
        waiting = Waiting(first, view.state)
        wait_until(lambda: places_taken(aggregator) == 1)
        assert RoundView.decode(second.api.get("rounds/current", {"seen": view.state, "wait": 30})) == view
        assert not waiting.done()
        # Whoever waits and is revoked is told so, not shown what changed.
        enrolment.revoke(aggregator.context, NAME, first.name)
        aggregator.enrol(4, first=2)
        aggregator.advance()
        wait_until(waiting.done)
        assert isinstance(waiting.error, Forbidden)
        assert places_taken(aggregator) == 0


@pytest.mark.parametrize("params", [{"wait": 31}, {"wait": -1}, {"wait": "x"}, {"seen": "x" * 513, "wait": 1}])
def test_limits(aggregator: Aggregator, params: dict[str, str | int]) -> None:
    (party,) = aggregator.enrol(1)
    assert refusal(party, EncodingError, lambda: party.api.get("rounds/current", params))["status"] == 422


def test_the_state_stays_short_enough_to_be_sent_back(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for _ in range(20):
        aggregator.pass_contributing()
        aggregator.pass_pause()
    view = parties[0].view()
    assert view.round == 21
    assert [one.plan.message.round for one in view.aborted] == list(range(5, 21))
    again = RoundView.decode(parties[0].api.get("rounds/current", {"seen": view.state, "wait": 1}))
    assert again == view
