import pytest

from aggregator.service import enrolment, statistics
from support.aggregator import CONTRIBUTE_SECONDS, OPEN_SECONDS, Aggregator
from support.client import NAME


def test_an_empty_aggregator(aggregator: Aggregator) -> None:
    found = statistics.read(aggregator.context)
    assert set(found.rounds) == {"contributing", "opening", "published", "aborted", "void", "carried"}
    assert not any(found.rounds.values())
    assert found.parties == {"client": 0, "reader": 0, "revoked": 0}
    assert found.records == {"contribution": 0, "opening": 0, "complaint": 0, "leaf": len(aggregator.raw_leaves())}
    assert (found.overdue_seconds, found.round_seconds) == (0.0, {})


def test_rounds_parties_and_records(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    aggregator.party("reader", "reader").enrol()
    aggregator.advance()
    aggregator.clock.forward(100)
    for party in parties:
        party.contribute()
    aggregator.clock.forward(40)
    for party in parties:
        party.open()
    enrolment.revoke(aggregator.context, NAME, parties[0].name)
    found = statistics.read(aggregator.context)
    assert found.rounds["published"] == 1
    assert found.parties == {"client": 4, "reader": 1, "revoked": 1}
    assert found.records["contribution"] == 5
    assert found.records["opening"] >= 3
    assert found.records["leaf"] == len(aggregator.raw_leaves())
    assert found.round_seconds == {"median": 140.0, "longest": 140.0}
    # The next round has begun, and everybody lets it be.
    assert found.overdue_seconds == 0.0
    aggregator.clock.forward(CONTRIBUTE_SECONDS + 25)
    assert statistics.read(aggregator.context).overdue_seconds == pytest.approx(25.0)
    aggregator.advance()
    aggregator.clock.forward(OPEN_SECONDS)
    assert statistics.read(aggregator.context).overdue_seconds > 0
