"""Who is let in at routes/rounds.py, over real HTTP."""

import base64
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import (
    Forbidden,
    Unauthenticated,
)
from support.aggregator import Aggregator
from support.party import Party, refusal

Change = Callable[[httpx.Request], httpx.Request]


@pytest.fixture
def four(aggregator: Aggregator) -> list[Party]:
    """Four clients and an open round."""
    parties = aggregator.enrol(4)
    aggregator.advance()
    return parties


def rebuilt(request: httpx.Request, **changes: Any) -> httpx.Request:
    parts = {"method": request.method, "url": request.url, "headers": request.headers, "content": request.read()}
    return httpx.Request(**(parts | changes))


def without(*names: str) -> Change:
    def change(request: httpx.Request) -> httpx.Request:
        kept = [(name, value) for name, value in request.headers.items() if name not in names]
        return rebuilt(request, headers=kept)

    return change


def other_body(request: httpx.Request) -> httpx.Request:
    body = bytearray(request.read())
    body[100] ^= 1
    return rebuilt(request, content=bytes(body))


def other_path(request: httpx.Request) -> httpx.Request:
    return rebuilt(request, url=str(request.url).replace("client-00", "client-01"))


def other_query(request: httpx.Request) -> httpx.Request:
    return rebuilt(request, url=f"{request.url}?x=1")


def other_signature(request: httpx.Request) -> httpx.Request:
    headers = dict(request.headers)
    label, _, signature = headers["signature"].partition("=")
    raw = bytearray(base64.b64decode(signature.strip(":")))
    raw[7] ^= 4
    headers["signature"] = f"{label}=:{base64.b64encode(raw).decode()}:"
    return rebuilt(request, headers=headers)


@pytest.mark.parametrize(
    "change",
    [
        without("signature", "signature-input"),
        without("signature"),
        without("content-digest"),
        other_body,
        other_path,
        other_query,
        other_signature,
    ],
    ids=["unsigned", "half signed", "no digest", "body", "path", "query", "signature"],
)
def test_a_tampered_put_is_refused_and_changes_nothing(
    aggregator: Aggregator, four: list[Party], change: Change
) -> None:
    # A signed request that had no effect yet: what is changed in it is all that can be wrong with it.
    fresh = four[1].contribution()
    before = aggregator.dump()
    with pytest.raises(Forbidden):
        four[1].send_contribution(fresh, client="client-00")
    request = change(four[1].transport.requests[-1])
    answer = four[1].transport.again(request)
    assert answer.status_code == 401
    document = answer.json()
    assert document["type"] == "urn:fgpr:problem:unauthenticated"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["accept-signature"].startswith("fgpr=(")
    assert aggregator.dump() == before


def test_a_replayed_put_has_no_second_effect(aggregator: Aggregator, four: list[Party]) -> None:
    party = four[0]
    party.contribute()
    before = aggregator.dump()
    answer = party.transport.again(party.transport.requests[-1])
    assert answer.status_code == 401
    assert "used before" in answer.json()["detail"]
    assert aggregator.dump() == before


def test_a_key_that_was_never_enrolled_looks_like_a_bad_signature(aggregator: Aggregator, four: list[Party]) -> None:
    party = four[0]
    stranger = party.api_as(Ed25519PrivateKey.generate(), aggregator.clock)
    body, before = party.contribution(), aggregator.dump()
    told = refusal(party, Unauthenticated, lambda: stranger.put(f"rounds/1/contributions/{party.name}", body))
    assert told["status"] == 401
    tampered = party.transport.again(other_signature(party.transport.requests[0]))
    assert tampered.json()["detail"] == told["detail"]
    assert aggregator.dump() == before


def test_a_stale_request_is_told_the_time(aggregator: Aggregator, four: list[Party]) -> None:
    party = four[0]
    party.view()
    aggregator.clock.forward(121)
    answer = party.transport.again(party.transport.requests[-1])
    assert answer.status_code == 401
    assert "clock skew" in answer.json()["detail"]
    assert answer.json()["server_time"] == "2031-03-09T12:02:01Z"
