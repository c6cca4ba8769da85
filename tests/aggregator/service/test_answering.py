"""Many openings stored by one transaction are judged as if each came alone; so are their leaves."""

from dataclasses import replace

from aggregator.service import answering, schedule
from aggregator.service.sent_bodies import Sent, Taken
from fgpr.auditlog.entries import OpeningKeyRegistered
from fgpr.errors import Conflict, EncodingError, Forbidden, Unauthenticated
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, caller_of
from support.client import NAME
from support.party import Party


def opened_by(aggregator: Aggregator, party: Party) -> Sent:
    return Sent(caller_of(party, aggregator.clock), party.name, party.opening())


def prepared(aggregator: Aggregator, count: int) -> tuple[list[Party], list[Sent]]:
    parties = aggregator.enrol(count)
    aggregator.advance()
    for party in parties:
        party.contribute()
    assert aggregator.round(1).stage is Stage.OPENING
    return parties, [opened_by(aggregator, party) for party in parties]


def test_all_of_them_at_once(aggregator: Aggregator) -> None:
    parties, sent = prepared(aggregator, 5)
    before = len(aggregator.leaves())
    taken = answering.answer_all(aggregator.context, sent, NAME, 1)
    assert all(isinstance(one, Taken) and one.due and one.receipt.counted for one in taken)
    keys = [leaf for leaf in aggregator.leaves()[before:] if isinstance(leaf, OpeningKeyRegistered)]
    assert [leaf.client for leaf in keys] == [party.name for party in parties]
    schedule.advance(aggregator.context, NAME)
    assert aggregator.round(1).stage is Stage.PUBLISHED


def test_a_refusal_is_nobody_else_s(aggregator: Aggregator) -> None:
    parties, sent = prepared(aggregator, 6)
    again = replace(sent[0], caller=caller_of(parties[0], aggregator.clock))
    another = Sent(caller_of(parties[0], aggregator.clock), parties[0].name, parties[0].opening())
    assert another.body != sent[0].body
    batch = [
        sent[0],
        again,
        another,
        replace(sent[1], body=b"{}"),
        replace(sent[2], client=parties[0].name),
        sent[3],
        sent[3],
        sent[4],
    ]
    taken = answering.answer_all(aggregator.context, batch, NAME, 1)
    kinds = [None if isinstance(one, Taken) else type(one) for one in taken]
    assert kinds == [None, None, Conflict, EncodingError, Forbidden, None, Unauthenticated, None]
    first, second, *_ = taken
    assert isinstance(first, Taken)
    assert isinstance(second, Taken)
    assert first.receipt == second.receipt
    assert len(aggregator.dump()["openings"]) == 3
