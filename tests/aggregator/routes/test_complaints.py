"""Complaints over HTTP: stored once, logged, and enough of them revoke whoever sealed the boxes."""

import hashlib

import pytest

from aggregator.service import inspection, operator
from aggregator.storage import complaints
from fgpr import merkle
from fgpr.auditlog import cosignature
from fgpr.auditlog.entries import ComplaintFiled, Convicted
from fgpr.errors import (
    Conflict,
    EncodingError,
    Forbidden,
    RemoteProtocolError,
    TooLate,
    UnknownResource,
    VerificationError,
)
from fgpr.message import Signed
from fgpr.secagg.messages import AccusedBox, Complaint, Contribution, Opening
from fgpr.secagg.stages import Stage
from fgpr.secagg.witnessing import cosigned_checkpoint
from support.aggregator import Aggregator
from support.client import NAME, SECONDS
from support.party import Party, refusal, repacked

LIAR = 2


def lie(party: Party, seats: set[int]) -> None:
    """Contribute, with boxes for these seats that do not open."""
    body = party.contribution()
    made = Contribution.decode(body)
    boxes = tuple(bytes(len(box)) if seat in seats else box for seat, box in enumerate(made.boxes, start=1))
    party.send_contribution(repacked(body, party.client.identity_key, boxes=boxes))


def closed(aggregator: Aggregator, seats: set[int], size: int = 6) -> list[Party]:
    """A closed round in which one of the clients lied to these seats."""
    parties = aggregator.enrol(size)
    aggregator.advance()
    for number, party in enumerate(parties):
        if number == LIAR:
            lie(party, seats)
        else:
            party.contribute()
    assert aggregator.round(1).stage is Stage.OPENING
    return parties


def complaint_of(party: Party) -> bytes:
    """The body that this party sent."""
    return next(r.content for r in reversed(party.transport.requests) if "complaints" in r.url.path)


def test_a_federation_with_a_client_that_always_sends_bad_boxes_still_publishes(aggregator: Aggregator) -> None:
    parties = closed(aggregator, set(range(1, 7)))
    honest = [party for number, party in enumerate(parties) if number != LIAR]
    for party in honest[:2]:
        party.complain()
    # Two and the convicted one are too many of six to miss: nobody waits for the deadline.
    row = aggregator.round(1)
    assert row.stage is Stage.ABORTED
    assert "complained of boxes that do not open" in str(row.reason)
    assert [leaf.client for leaf in aggregator.leaves() if isinstance(leaf, Convicted)] == ["client-02"]
    for party in honest:
        if aggregator.round(1).stage is Stage.ABORTED:
            party.open_nothing(1)
    assert aggregator.round(1).stage is Stage.VOID
    plan = parties[0].plan().message
    assert (plan.round, plan.prior_version, len(plan.invited)) == (2, 0, 5)
    assert "client-02" not in plan.invited
    assert plan.seat_of("client-02") is None
    with pytest.raises(Forbidden, match="revoked"):
        parties[LIAR].view()
    for party in honest:
        party.contribute()
    for party in honest:
        party.open()
    assert aggregator.prior().version == 1
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_round_that_can_miss_the_members_that_complain_publishes_without_waiting_for_them(
    aggregator: Aggregator,
) -> None:
    # Ten seats, t = 8: of eight that can open, nobody waits for the two that complained.
    parties = closed(aggregator, {1, 2}, size=10)
    for party in parties[:2]:
        party.complain()
    for party in parties[2:]:
        party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED


def test_whoever_is_convicted_is_waited_for_no_more(aggregator: Aggregator) -> None:
    # Seven seats, t = 6, x = 1: the four that are left could open for good and would not be enough.
    parties = closed(aggregator, {1, 2}, size=7)
    for party in parties[:2]:
        party.complain()
    assert aggregator.kinds()[-2:] == ["convicted", "aborted"]
    aggregator.pass_opening()
    # Nobody had opened it, and two openings of the empty cohort were not enough: the theta is carried.
    assert aggregator.round(1).stage is Stage.CARRIED
    for number, party in enumerate(parties):
        if number != LIAR:
            party.contribute()
    aggregator.pass_contributing()
    row = aggregator.round(2)
    assert row.cohort is not None
    assert "client-02" not in row.cohort.message.clients()


def test_one_complaint_convicts_nobody_and_is_kept(aggregator: Aggregator) -> None:
    parties = closed(aggregator, {4})
    receipt = parties[3].complain()
    body = complaint_of(parties[3])
    assert receipt.body == hashlib.sha256(body).digest()
    (leaf,) = [leaf for leaf in aggregator.leaves() if isinstance(leaf, ComplaintFiled)]
    assert leaf.complaint.encode() == body
    # The same again is the same answer, and no second leaf.
    assert parties[3].send_complaint(body, 1) == receipt
    assert aggregator.kinds().count("complaint") == 1
    for number, party in enumerate(parties):
        if number != 3:
            party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    assert "convicted" not in aggregator.kinds()
    assert operator.show_round(aggregator.context, NAME, 1)["complaints"] == {"client-03": ["client-02"]}
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_complaint_after_the_end_is_evidence_all_the_same(aggregator: Aggregator) -> None:
    # Twelve seats, t = 9, x = 2: the round publishes while three members have not sent their complaints.
    parties = closed(aggregator, {4, 5, 6}, size=12)
    bodies = {number: parties[number].complaint() for number in (3, 4, 5)}
    for number, party in enumerate(parties):
        if number not in bodies:
            party.open()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    for number, body in bodies.items():
        parties[number].send_complaint(body, 1)
    assert [leaf.client for leaf in aggregator.leaves() if isinstance(leaf, Convicted)] == ["client-02"]


def test_whoever_complained_does_not_open_nor_the_other_way_round(aggregator: Aggregator) -> None:
    parties = closed(aggregator, {4})
    member, cohort = parties[3], aggregator.round(1).cohort
    assert cohort is not None
    member.complain()
    lie = Opening(
        federation=NAME,
        round=1,
        cohort=cohort.message.digest(),
        client="client-03",
        sum=bytes(32),
        next_key=member.client.new_key(),
        cosignature=cosignature.cosign(
            cosigned_checkpoint(cohort.message, member.ticket.service_key), member.client.identity_key, SECONDS
        ),
    )
    signed = Signed[Opening].make(member.client.identity_key, lie)
    refusal(member, Conflict, lambda: member.send_opening(signed.encode(), 1))
    parties[1].open()
    entry = parties[1].cohort(1).entries[0]
    slander = Complaint(
        federation=NAME,
        round=1,
        plan=cohort.message.plan,
        cohort=cohort.message.digest(),
        client="client-01",
        seat=2,
        boxes=(AccusedBox(header=entry.header, box=merkle.leaf_hash(entry.box), path=entry.path),),
    )
    made = Signed[Complaint].make(parties[1].client.identity_key, slander)
    refusal(parties[1], Conflict, lambda: parties[1].send_complaint(made.encode(), 1))
    assert aggregator.kinds().count("complaint") == 1


def test_whoever_replaced_its_key_complains_of_no_running_round(aggregator: Aggregator) -> None:
    member = closed(aggregator, {4})[3]
    body = member.complaint()
    member.rotate()
    before = aggregator.dump()
    assert (
        "first round whose roster names the new one"
        in refusal(member, Conflict, lambda: member.send_complaint(body, 1))["detail"]
    )
    assert aggregator.dump() == before


def test_what_is_no_complaint_of_this_member_and_round_is_refused(aggregator: Aggregator) -> None:
    parties = closed(aggregator, {4})
    parties[3].complain()
    body, key = complaint_of(parties[3]), parties[3].client.identity_key
    message = Signed[Complaint].decode(body).message
    before = aggregator.dump()

    def changed(**fields: object) -> bytes:
        return Signed[Complaint].make(key, message.model_copy(update=fields)).encode()

    cases = [
        (Forbidden, lambda: parties[0].send_complaint(body, 1)),
        (Forbidden, lambda: parties[0].send_complaint(body, 1, "client-03")),
        (UnknownResource, lambda: parties[3].send_complaint(body, 2)),
        (TooLate, lambda: parties[3].send_complaint(changed(cohort=bytes(32)), 1)),
        (RemoteProtocolError, lambda: parties[3].send_complaint(changed(seat=1), 1)),
        (EncodingError, lambda: parties[3].send_complaint(body[:-1], 1)),
    ]
    for kind, act in cases:
        refusal(parties[0 if kind is Forbidden else 3], kind, act)
        assert aggregator.dump() == before


def test_another_complaint_of_the_same_member_does_not_take_the_place_of_the_first(aggregator: Aggregator) -> None:
    parties = closed(aggregator, {4})
    parties[3].complain()
    message = Signed[Complaint].decode(complaint_of(parties[3])).message
    entry = parties[3].cohort(1).entries[0]
    other = AccusedBox(header=entry.header, box=merkle.leaf_hash(entry.box), path=entry.path)
    more = message.model_copy(update={"boxes": (other, *message.boxes)})
    with pytest.raises(Conflict, match="the first one stands"):
        parties[3].send_complaint(Signed[Complaint].make(parties[3].client.identity_key, more).encode(), 1)


def test_a_changed_complaint_shows_in_an_inspection(aggregator: Aggregator) -> None:
    parties = closed(aggregator, {4})
    parties[3].complain()
    anchors = aggregator.anchors()
    with aggregator.context.database.write() as connection:
        connection.execute(complaints.complaints.delete())
    with pytest.raises(VerificationError, match="the complaints of engines are not the logged ones"):
        inspection.verify_database(aggregator.context.database, anchors)
