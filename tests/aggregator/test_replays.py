"""Threat 1: requests that somebody on the way wrote down, sent once more."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from replays.captured import Captured
from replays.flips import Sent, contribution, statuses
from support.aggregator import Aggregator, Clock, served
from support.party import Party
from support.raw_socket import answer_of, connected
from support.replicas import two_replicas

KINDS = {
    "POST enrolments",
    "POST rounds",
    "PUT contributions",
    "PUT openings",
    "POST tickets",
    "PUT state",
    "DELETE clients",
    "PUT key",
    "DELETE staff",
}


def test_nothing_that_was_captured_has_an_effect_again(tmp_path: Path, database_url: str) -> None:
    """At either replica, and at one that starts anew; `make replay` does it with 1,000."""
    with two_replicas(tmp_path, database_url, keeps_deadlines=False) as replicas:
        captured = Captured(replicas)
        captured.play(10)
        assert captured.kinds() == KINDS
        before = captured.dump()
        assert len(captured.spent()) == len(captured.requests)
        assert captured.spent() == {row[:2] for row in before["nonces"]}
        assert set(captured.again(replicas.ports)) <= {401, 403}
        with captured.restarted() as port:
            assert set(captured.again([port])) <= {401, 403}
        assert captured.dump() == before


def test_as_long_as_a_signature_holds(aggregator: Aggregator) -> None:
    """A client whose clock is 30 s ahead: what it signs is taken for 150 s, and its nonce is kept as long."""
    first, second, *_ = aggregator.enrol(4)
    aggregator.advance()
    ahead = Clock(aggregator.clock() + timedelta(seconds=30))
    first.api = first.api_as(first.client.identity_key, ahead)
    first.contribute()
    sent = first.transport.requests[-1]
    second.contribute()
    body = second.client.journal[-1].body  # type: ignore[union-attr]  # its contribution
    for seconds in (0, 1, 29, 1, 89, 29, 1):
        aggregator.clock.forward(seconds)
        # An effect of somebody else, with which old nonces are forgotten.
        second.send_contribution(body)
        before = aggregator.dump()
        answer = first.transport.again(sent)
        assert (answer.status_code, "used before" in answer.json()["detail"]) == (401, True)
        assert aggregator.dump() == before
    aggregator.clock.forward(1)
    assert "clock skew" in first.transport.again(sent).json()["detail"]


@pytest.mark.parametrize("kind", ["unsigned", "signed badly"])
def test_what_is_not_signed_is_not_parsed(aggregator: Aggregator, kind: str) -> None:
    party: Party = aggregator.enrol(1)[0]
    url = f"{party.ticket.origin}/v1/federations/engines/rounds/1/contributions/{party.name}"
    request = httpx.Request("PUT", url, content=b"[" * 10_000, headers={"Content-Type": "application/json"})
    if kind == "signed badly":
        other = httpx.Request("PUT", url, content=b"{}", headers={"Content-Type": "application/json"})
        next(party.api._signature.auth_flow(other))
        headers = {name: value for name, value in other.headers.items() if name != "content-length"}
        request = httpx.Request("PUT", url, content=b"[" * 10_000, headers=headers)
    assert party.transport.again(request).status_code == 401


def test_no_changed_request_is_taken_over_a_socket(tmp_path: Path) -> None:
    """One in 41 bits of the body, every bit of the rest, each component; `make replay` flips every bit."""
    with served(tmp_path, keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        sent = contribution(parties[0])
        before = aggregator.dump()
        found = statuses(aggregator, sent, step=41)
        assert aggregator.dump() == before
        assert {kind for kind in found if "body" in kind or "dropped" in kind} == {
            "bit of the body",
            "dropped field",
            "dropped body",
            "dropped component",
        }
        for kind, counts in found.items():
            # A flipped path may lead to no route, and a flipped method may be no HTTP.
            assert set(counts) <= ({400, 401, 404, 405} if "body" not in kind else {401}), kind
        # It was a good one all the time.
        assert status_of(aggregator, sent) == 200


def status_of(aggregator: Aggregator, sent: Sent) -> int:
    with connected(aggregator.settings.origin) as connection:
        connection.sendall(sent.raw())
        return answer_of(connection.recv(65_536)).status
