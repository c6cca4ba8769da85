"""A federation with the hybrid suite over HTTP: the ticket says so, other keys are not taken, rounds publish."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator.service import inspection
from fgpr.errors import EncodingError
from fgpr.message import Signed
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.suites import SUITES
from support.aggregator import Aggregator, served, settings_of
from support.party import refusal


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    rules = AggregationRules(suite="mlkem768-x25519")
    with served(tmp_path, settings_of(rules=rules), keeps_deadlines=False, url=database_url) as made:
        yield made


def test_two_rounds(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    assert parties[0].ticket.suite == "mlkem768-x25519"
    aggregator.advance()
    for version in (1, 2):
        for party in parties:
            party.contribute()
        for party in parties:
            party.open()
        assert aggregator.prior().version == version
    plan = parties[0].plan().message
    assert plan.suite == "mlkem768-x25519"
    size = SUITES[plan.suite].public_bytes
    assert [seat.key is not None and len(seat.key.message.key) == size for seat in plan.seats] == [True] * 4
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_first_key_of_another_suite_is_not_taken(aggregator: Aggregator) -> None:
    party = aggregator.party("client-00")
    party.client.suite = "x25519"
    party.client.opening_keys.clear()
    party.first_key = Signed.make(party.client.identity_key, party.client.new_key().message)
    refusal(party, EncodingError, party.enrol)
