"""Contributions that no honest client sends, at routes/rounds.py."""

from collections.abc import Callable

import pytest

from fgpr.errors import (
    EncodingError,
    RemoteProtocolError,
    VerificationError,
)
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.messages import Contribution
from support.aggregator import Aggregator
from support.party import Party, refusal, repacked


@pytest.fixture
def four(aggregator: Aggregator) -> list[Party]:
    """Four clients and an open round."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    return parties


def cut(body: bytes) -> bytes:
    return Contribution.decode(body).masked[:-8]


def beyond_the_field(body: bytes) -> bytes:
    return MERSENNE_61.to_bytes(8, "little") + Contribution.decode(body).masked[8:]


def half_a_word(body: bytes) -> bytes:
    return Contribution.decode(body).masked[:-1]


@pytest.mark.parametrize("masked", [cut, beyond_the_field, half_a_word])
def test_a_masked_vector_that_no_encoding_gives_is_refused(
    aggregator: Aggregator, four: list[Party], masked: Callable[[bytes], bytes]
) -> None:
    party = four[0]
    body = party.contribution()
    bad, before = repacked(body, party.client.identity_key, masked=masked(body)), aggregator.dump()
    assert refusal(party, EncodingError, lambda: party.send_contribution(bad))["status"] == 422
    assert aggregator.dump() == before
    # Nothing of it stands in the way of a good one.
    assert party.send_contribution(body).counted


def test_boxes_have_to_fit_the_seats(aggregator: Aggregator, four: list[Party]) -> None:
    party = four[0]
    body = party.contribution()
    boxes = Contribution.decode(body).boxes
    before = aggregator.dump()
    for wrong in (boxes[:-1], (*boxes, b""), (b"", *boxes[1:]), (boxes[0] + b"x", *boxes[1:])):
        bad = repacked(body, party.client.identity_key, boxes=wrong)
        assert refusal(party, RemoteProtocolError, lambda bad=bad: party.send_contribution(bad))["status"] == 422
    forged = repacked(body, four[1].client.identity_key)
    assert refusal(party, VerificationError, lambda: party.send_contribution(forged))["status"] == 422
    assert aggregator.dump() == before
