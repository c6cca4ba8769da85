"""Whatever is sent is answered with a problem document: never a 5xx, never an effect."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party

ROUND = f"/v1/federations/{NAME}/rounds"
MIB = 2**20


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """One for all: nothing here has an effect, and each test checks that."""
    with served(tmp_path_factory.mktemp("wiring"), keeps_deadlines=False) as made:
        made.enrol(4)
        made.advance()
        yield made


@pytest.fixture
def party(aggregator: Aggregator) -> Party:
    """A client in an open round."""
    return aggregator.parties["client-00"]


def send(party: Party, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> httpx.Response:
    """A signed request with any body and content type."""
    signature = party.api._signature
    headers = {"Content-Type": kind} if body or kind != "application/json" else {}
    request = httpx.Request(method, party.ticket.origin + path, content=body or None, headers=headers)
    next(signature.auth_flow(request))
    response = party.transport.inner.handle_request(request)
    response.read()
    return response


def check_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert document["status"] == status
    return document


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/jsonp", "", "application/json-seq"])
def test_another_content_type(aggregator: Aggregator, party: Party, kind: str) -> None:
    body, before = party.contribution(), aggregator.dump()
    check_problem(send(party, "PUT", f"{ROUND}/1/contributions/{party.name}", body, kind), 415)
    assert aggregator.dump() == before


def test_a_content_type_with_parameters(aggregator: Aggregator) -> None:
    party = aggregator.parties["client-03"]
    body, path = party.contribution(), f"{ROUND}/1/contributions/{party.name}"
    assert send(party, "PUT", path, body, "Application/JSON; charset=utf-8").status_code == 200


def test_bodies_beyond_the_limit(aggregator: Aggregator, party: Party) -> None:
    before = aggregator.dump()
    for path, size, limit in (
        (f"{ROUND}/1/contributions/{party.name}", 5 * MIB, 4 * MIB),
        (f"{ROUND}/1/openings/{party.name}", MIB + 1, MIB),
    ):
        told = check_problem(send(party, "PUT", path, b"x" * size), 413)
        assert (told["type"], told["limit"]) == ("urn:fgpr:problem:too-large", limit)
        # Without a declared length: chunk by chunk.
        url = party.ticket.origin + path
        chunks = (b"x" * 65_536 for _ in range(size // 65_536 + 1))
        with httpx.Client() as client:
            check_problem(client.put(url, content=chunks, headers={"Content-Type": "application/json"}), 413)
    # Exactly the limit is read and judged.
    check_problem(send(party, "PUT", f"{ROUND}/1/contributions/{party.name}", b"x" * (4 * MIB)), 422)
    assert aggregator.dump() == before


def test_methods_and_paths_that_do_not_exist(party: Party) -> None:
    for method, path in (
        ("POST", f"{ROUND}/current"),
        ("DELETE", f"{ROUND}/1/cohort"),
        ("PATCH", "/v1/log/checkpoint"),
        ("OPTIONS", "/v1/enrolments"),
        ("GET", "/v1/enrolments"),
    ):
        answer = send(party, method, path)
        check_problem(answer, 405)
        assert answer.headers["allow"]
    for path in ("/", "/v1", "/v2/log/checkpoint", "/v1/federations", f"/v1/federations/{NAME}", f"{ROUND}/1"):
        assert check_problem(send(party, "GET", path), 404)["type"] == "urn:fgpr:problem:unknown-resource"


@pytest.mark.parametrize(
    "path",
    [
        f"{ROUND}/-1/cohort",
        f"{ROUND}/x/cohort",
        f"{ROUND}/1.5/cohort",
        f"{ROUND}/{2**31}/cohort",
        f"{ROUND}/{'9' * 5000}/cohort",
        f"{ROUND}/%00/cohort",
        "/v1/federations/UPPER/rounds/current",
        "/v1/federations/%2e%2e/rounds/current",
        f"/v1/federations/{'a' * 65}/rounds/current",
        "/v1/federations/a%0a/rounds/current",
        "/v1/federations/%ff/rounds/current",
        f"{ROUND}?before=0",
        f"{ROUND}?limit=0",
        f"{ROUND}?limit=101",
        f"{ROUND}?before=x",
        f"/v1/federations/{NAME}/priors/x",
        f"/v1/federations/{NAME}/rosters/-1",
        "/v1/log/entries",
        "/v1/log/entries?start=0",
        "/v1/log/entries?start=-1&end=2",
        "/v1/log/inclusion?index=0&size=x",
        f"/v1/log/consistency?old=0&new={2**64}",
    ],
)
def test_odd_parameters(party: Party, path: str) -> None:
    check_problem(send(party, "GET", path), 422)


def test_a_refusal_never_repeats_what_was_sent(party: Party) -> None:
    secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
    body = json.dumps(party.enrolment().to_json() | {"secret": secret, "client": secret}).encode()
    assert secret not in send(party, "POST", "/v1/enrolments", body).text
    assert secret not in send(party, "GET", f"/v1/federations/{secret}/rounds/current").text
