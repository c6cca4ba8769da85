"""Ways out of federations that are stuck or idle: released rosters, growing pauses, and quotas."""

import itertools

import pytest

from aggregator.service import enrolment, steering
from aggregator.service.inspection import verify_database
from aggregator.storage import clients
from fgpr.errors import Conflict, PlanRefused, QuotaExceeded
from fgpr.message import Signed
from fgpr.operator_rest import StateRequest
from fgpr.secagg.messages import Opening
from fgpr.secagg.stages import Stage
from support.aggregator import CONTRIBUTE_SECONDS, Aggregator
from support.client import NAME
from support.party import Party, refusal


def change(aggregator: Aggregator, state: str) -> str:
    body = StateRequest.from_json({"state": state, "reason": "the old engines are scrapped"}).encode()
    return steering.change_state(aggregator.context, None, NAME, body).state


def stuck(aggregator: Aggregator) -> tuple[list[Party], list[Party]]:
    """Those whose cohort was carried, and newcomers whom the carried roster does not know."""
    old = aggregator.enrol(4)
    aggregator.advance()
    for party in old:
        party.contribute()
    aggregator.clock.forward(CONTRIBUTE_SECONDS)
    aggregator.pass_opening()
    aggregator.pass_opening()
    assert aggregator.prior().reason == "carried"
    newcomers = aggregator.enrol(7, first=10)
    # Round 2 has the old roster, and nobody comes.
    aggregator.pass_contributing()
    assert aggregator.round(2).stage is Stage.ABORTED
    return old, newcomers


def test_a_released_theta_goes_on_with_another_roster(aggregator: Aggregator) -> None:
    old, newcomers = stuck(aggregator)
    assert aggregator.last_round() == 3
    assert change(aggregator, "released") == "open"
    leaves = len(aggregator.leaves())
    assert change(aggregator, "released") == "open"
    assert len(aggregator.leaves()) == leaves, "asked again, nothing is written"
    for party in old[1:]:
        enrolment.revoke(aggregator.context, NAME, party.name)
    aggregator.pass_contributing()
    aggregator.pass_pause()
    plan = aggregator.round(4).plan.message
    assert (plan.roster_version, plan.prior_version, plan.theta_version) == (2, 1, 0)
    assert plan.invited == ("client-00", *(party.name for party in newcomers))
    # Whoever was in the carried cohort refuses by its own rule.
    with pytest.raises(PlanRefused, match="check 7 of a plan: the roster changed while its theta was carried"):
        old[0].contribute()
    # One that forgot does not, and is not counted: the two sums differ by all of both cohorts.
    old[0].client.journal.clear()
    old[0].contribute()
    for party in newcomers:
        party.contribute()
    cohort = aggregator.round(4).cohort
    assert cohort is not None
    assert cohort.message.clients() == {party.name for party in newcomers}
    for party in newcomers:
        party.open()
    assert aggregator.round(4).stage is Stage.PUBLISHED
    assert aggregator.prior().theta_version == 2
    verify_database(aggregator.context.database, aggregator.anchors())
    with pytest.raises(Conflict, match="was not carried"):
        change(aggregator, "released")


def test_a_released_theta_that_is_carried_again_keeps_its_new_roster(aggregator: Aggregator) -> None:
    old, newcomers = stuck(aggregator)
    for party in old:
        enrolment.revoke(aggregator.context, NAME, party.name)
    change(aggregator, "released")
    aggregator.advance()
    aggregator.pass_pause()
    number = aggregator.last_round()
    assert aggregator.round(number).plan.message.roster_version == 2
    for party in newcomers:
        party.contribute()
    aggregator.clock.forward(CONTRIBUTE_SECONDS)
    aggregator.pass_opening()
    aggregator.pass_opening()
    assert aggregator.prior().theta_version == 0
    assert aggregator.prior().version == 2
    aggregator.enrol(2, first=30)
    aggregator.pass_pause()
    # The release was for one prior version: the next one has to be asked for again.
    assert aggregator.round(aggregator.last_round()).plan.message.roster_version == 2


def test_nothing_to_release(aggregator: Aggregator) -> None:
    with pytest.raises(Conflict, match="its next round has a fresh roster"):
        change(aggregator, "released")


def test_an_idle_federation_waits_longer_and_longer(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    opened, last = [], 1
    for _ in range(12 * 12):
        aggregator.clock.forward(300)
        aggregator.advance()
        if aggregator.last_round() != last:
            last = aggregator.last_round()
            opened.append(aggregator.round(last).contribute_until)
    gaps = [(later - earlier).total_seconds() for earlier, later in itertools.pairwise(opened)]
    # A round of 600 s, then a pause of 600, 1200, 2400, and at most an hour.
    assert gaps[:4] == [1200.0, 1800.0, 3000.0, 4200.0]
    assert set(gaps[3:]) == {4200.0}
    # Every one of them ended by its deadline, and the first to come finds a round within the hour.
    assert all(aggregator.round(number).stage is Stage.ABORTED for number in range(1, last))
    aggregator.pass_contributing()
    aggregator.pass_pause()
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
    number = aggregator.last_round()
    # Back at work, without a pause.
    assert aggregator.round(number).stage is Stage.CONTRIBUTING
    assert aggregator.round(number - 1).stage is Stage.PUBLISHED


def test_how_many_opening_keys_a_client_may_send(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    aggregator.advance()
    for party in parties:
        party.contribute()
    late = Signed[Opening].decode(parties[4].opening()).message
    for party in parties[:4]:
        party.open()
    aggregator.clock.forward(CONTRIBUTE_SECONDS)
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    key = parties[4].client.identity_key

    def send(serial: int) -> bool:
        following = parties[4].client.new_key().message.model_copy(update={"serial": serial})
        signed = type(late.next_key).make(key, following)
        body = Signed[Opening].make(key, late.model_copy(update={"next_key": signed})).encode()
        return parties[4].send_opening(body, 1).counted

    # One with the enrolment, one for each of the two rounds.
    assert not send(2)
    assert not send(3)
    before = aggregator.dump()
    told = refusal(parties[4], QuotaExceeded, lambda: send(4))
    assert (told["status"], told["limit"]) == (429, 3)
    assert aggregator.dump() == before


def test_how_many_effects_in_the_time_that_a_signature_holds(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_NONCES", 5)
    parties = aggregator.enrol(4)
    aggregator.advance()
    body = parties[0].contribution()
    for _ in range(4):
        assert parties[0].send_contribution(body).counted
    told = refusal(parties[0], QuotaExceeded, lambda: parties[0].send_contribution(body))
    assert told["status"] == 429
    # It is the others' quota no more than it was, and time gives it back.
    parties[1].contribute()
    aggregator.clock.forward(151)
    parties[2].contribute()
    assert parties[0].send_contribution(body).counted
