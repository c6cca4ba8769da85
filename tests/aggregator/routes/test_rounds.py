import base64
import json

import numpy as np
import pytest

from aggregator.service import enrolment
from fgpr.errors import (
    Conflict,
    Forbidden,
    TooLate,
    UnknownResource,
)
from fgpr.message import Signed
from fgpr.rest import Receipt, RoundList, RoundView
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Contribution, Opening
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator
from support.client import NAME
from support.party import Party, refusal, repacked


@pytest.fixture
def four(aggregator: Aggregator) -> list[Party]:
    """Four clients and an open round."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    return parties


def test_a_revoked_client_is_told_so(aggregator: Aggregator, four: list[Party]) -> None:
    party = four[0]
    body = party.contribution()
    enrolment.revoke(aggregator.context, NAME, party.name)
    before = aggregator.dump()
    for act in (lambda: party.send_contribution(body), party.view, lambda: party.prior(0), lambda: party.cohort(1)):
        assert refusal(party, Forbidden, act)["status"] == 403
    assert aggregator.dump() == before


def test_nobody_acts_for_another(aggregator: Aggregator, four: list[Party]) -> None:
    body, before = four[0].contribution(), aggregator.dump()
    assert refusal(four[1], Forbidden, lambda: four[1].send_contribution(body, 1, "client-00"))["status"] == 403
    # Its own path with another client's body.
    assert refusal(four[1], Forbidden, lambda: four[1].send_contribution(body, 1))["status"] == 403
    assert aggregator.dump() == before


def test_the_same_body_gets_the_same_bytes_and_another_one_a_conflict(
    aggregator: Aggregator, four: list[Party]
) -> None:
    party = four[0]
    body = party.contribution()
    party.send_contribution(body)
    first = party.transport.answers[-1]
    party.send_contribution(body)
    assert party.transport.answers[-1] == first
    second = repacked(body, party.client.identity_key, masked=FIELD.to_bytes(np.arange(4, dtype=np.uint64)))
    before = aggregator.dump()
    assert refusal(party, Conflict, lambda: party.send_contribution(second))["status"] == 409
    assert aggregator.dump() == before
    # Also when the round has ended, and what it uploaded is erased.
    aggregator.pass_contributing()
    assert aggregator.round(1).stage is Stage.ABORTED
    party.send_contribution(body)
    assert party.transport.answers[-1] == first


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "not closed yet"])
def test_what_comes_late_is_not_stored(aggregator: Aggregator, four: list[Party], closed: bool) -> None:
    late = four[3]
    for party in four[:3]:
        party.contribute()
    body = late.contribution()
    aggregator.clock.forward(600)
    if closed:
        aggregator.advance()
        assert aggregator.round(1).stage is Stage.OPENING
    before = aggregator.dump()
    told = refusal(late, TooLate, lambda: late.send_contribution(body))
    assert (told["status"], told["current_round"]) == (410, 1)
    assert aggregator.dump() == before
    made, files = Contribution.decode(body), aggregator.files()
    for secret in (made.masked, *made.boxes, made.header.signature):
        assert secret not in files
        assert base64.b64encode(secret) not in files


def test_who_believes_in_an_old_round_is_told_the_present_one(aggregator: Aggregator, four: list[Party]) -> None:
    body = four[0].contribution()
    for party in four:
        party.contribute()
    for party in four:
        party.open()
    newcomer = aggregator.party("newcomer")
    receipt = newcomer.enrol()
    assert (receipt.round, receipt.prior_version) == (2, 1)
    told = refusal(newcomer, TooLate, lambda: newcomer.send_contribution(body, number=1))
    assert (told["status"], told["current_round"], told["stage"]) == (410, 2, "published")
    # Round 2 was planned before it came; it takes part from the next one.
    aggregator.pass_contributing()
    assert "newcomer" in newcomer.plan().message.invited
    assert newcomer.contribute().round == 3


def test_rounds_that_never_were(four: list[Party]) -> None:
    body = four[0].contribution()
    assert refusal(four[0], UnknownResource, lambda: four[0].send_contribution(body, number=2))["status"] == 404
    assert refusal(four[0], UnknownResource, lambda: four[0].cohort(2))["status"] == 404
    assert refusal(four[0], UnknownResource, lambda: four[0].cohort(1))["status"] == 404


def test_a_reader_and_a_client_of_a_later_roster_take_no_part(aggregator: Aggregator, four: list[Party]) -> None:
    reader = aggregator.party("reader", "reader")
    assert reader.enrol().role == "reader"
    made = Contribution.decode(four[0].contribution())
    header = made.header.message.model_copy(update={"client": "reader"})
    own = Contribution(
        header=type(made.header).make(reader.client.identity_key, header), masked=made.masked, boxes=made.boxes
    )
    told = refusal(reader, Forbidden, lambda: reader.send_contribution(own.encode(), 1))
    assert "takes part in no round" in told["detail"]
    assert reader.prior().prior.message.version == 0
    for party in four:
        party.contribute()
    assert refusal(reader, Forbidden, lambda: reader.cohort(1))["status"] == 403


def test_openings(aggregator: Aggregator, four: list[Party]) -> None:
    for party in four:
        party.contribute()
    first, other = four[0], four[1]
    body = first.opening()
    assert refusal(other, Forbidden, lambda: other.send_opening(body))["status"] == 403
    assert refusal(other, Forbidden, lambda: other.send_opening(body, client=first.name))["status"] == 403
    assert first.send_opening(body).counted
    answered = first.transport.answers[-1]
    first.send_opening(body)
    assert first.transport.answers[-1] == answered

    signed = Signed[Opening].decode(body).message
    words = FIELD.from_bytes(signed.sum, 4).copy()
    words[0] ^= np.uint64(1)
    second = (
        Signed[Opening]
        .make(first.client.identity_key, signed.model_copy(update={"sum": FIELD.to_bytes(words)}))
        .encode()
    )
    before = aggregator.dump()
    assert refusal(first, Conflict, lambda: first.send_opening(second))["status"] == 409
    assert aggregator.dump() == before

    stranger = Signed[Opening].make(
        other.client.identity_key,
        signed.model_copy(update={"client": other.name, "cohort": bytes(32)}),
    )
    told = refusal(other, TooLate, lambda: other.send_opening(stranger.encode()))
    assert (told["status"], told["current_round"]) == (410, 1)
    assert aggregator.dump() == before


def test_openings_are_acknowledged_alike_when_the_round_has_ended(aggregator: Aggregator, four: list[Party]) -> None:
    for party in four:
        party.contribute()
    bodies = [party.opening() for party in four]
    for party, body in zip(four, bodies, strict=True):
        party.send_opening(body, 1)
    assert aggregator.round(1).stage is Stage.PUBLISHED
    before = aggregator.dump()
    for party, body in zip(four, bodies, strict=True):
        answered = party.transport.answers[-1]
        assert party.send_opening(body, 1).counted
        assert party.transport.answers[-1] == answered
    before.pop("nonces")
    after = aggregator.dump()
    after.pop("nonces")
    assert after == before


def test_an_opening_key_of_another_client_is_refused(aggregator: Aggregator, four: list[Party]) -> None:
    for party in four:
        party.contribute()
    first, thief = four[0], four[1]
    first.open()
    body = first.client.journal[-1].body
    stolen = Signed[Opening].decode(body).message.next_key.message
    made = Signed[Opening].decode(thief.opening()).message
    copied = stolen.model_copy(update={"client": thief.name})
    key = type(made.next_key).make(thief.client.identity_key, copied)
    bad = Signed[Opening].make(thief.client.identity_key, made.model_copy(update={"next_key": key})).encode()
    before = aggregator.dump()
    told = refusal(thief, Conflict, lambda: thief.send_opening(bad))
    assert "make a fresh one" in told["detail"]
    assert aggregator.dump() == before


def test_the_cohort_is_shown_while_it_can_be_opened(four: list[Party]) -> None:
    for party in four:
        party.contribute()
    view = four[2].cohort(1)
    assert [entry.header.message.client for entry in view.entries] == [party.name for party in four]
    own = [Contribution.decode(party.client.journal[-1].body).boxes[2] for party in four]  # type: ignore[union-attr]
    assert [entry.box for entry in view.entries] == own
    for party in four:
        party.open()
    assert refusal(four[2], TooLate, lambda: four[2].cohort(1))["current_round"] == 2


def test_the_list_goes_back_page_by_page(aggregator: Aggregator, four: list[Party]) -> None:
    for _ in range(4):
        aggregator.pass_contributing()
        aggregator.pass_pause()
    first = RoundList.decode(four[0].api.get("rounds", {"limit": 3}))
    assert [line.round for line in first.rounds] == [5, 4, 3]
    assert first.next == 3
    rest = RoundList.decode(four[0].api.get("rounds", {"limit": 3, "before": first.next}))
    assert [line.round for line in rest.rounds] == [2, 1]
    assert rest.next is None
    oldest = rest.rounds[-1]
    assert (oldest.stage, oldest.invited, oldest.contributions, oldest.threshold) == (Stage.ABORTED, 4, 0, 4)
    assert oldest.contribute_until == oldest.ended_at == "2031-03-09T12:10:00.000Z"
    assert "0 contributions" in str(oldest.reason)


def test_a_view_before_the_first_round(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    view = party.view()
    assert (view.round, view.stage, view.plan, view.prior_version) == (0, None, None, 0)
    assert view.server_time == "2031-03-09T12:00:00.000Z"
    assert RoundView.decode(party.api.get("rounds/current", {"seen": "something else", "wait": 30})) == view


def test_a_receipt_names_the_body(four: list[Party]) -> None:
    receipt = four[0].contribute()
    assert receipt == Receipt.decode(json.dumps(receipt.to_json()).encode())
    assert (receipt.federation, receipt.round, receipt.client) == (NAME, 1, "client-00")
