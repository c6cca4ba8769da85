import re
from collections.abc import Iterator

import httpx
import pytest
import structlog
from fastapi import FastAPI
from starlette.testclient import TestClient

from aggregator import logs, problems
from aggregator.intake.observed import Observed, caller_digest
from aggregator.metrics import Metrics, Statistics
from fgpr import signatures
from fgpr.errors import Conflict, Unavailable
from support.aggregator import Aggregator, served, wait_until
from support.client import NAME

CANARY = "canary-5e1f"
MADE = re.compile(r"[0-9a-f]{16}")


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """One that logs its requests."""
    with served(tmp_path_factory.mktemp("observed"), keeps_deadlines=False, log_requests=True) as made:
        made.enrol(4)
        made.advance()
        yield made


@pytest.fixture
def lines() -> Iterator[list[dict[str, object]]]:
    """The lines of the log as they are given to it."""
    with structlog.testing.capture_logs() as captured:
        yield captured


def test_an_id_of_good_form_is_taken_and_any_other_replaced(aggregator: Aggregator) -> None:
    url = f"{aggregator.settings.origin}/v1/log/checkpoint"
    for given in ("8e0b7c54-0f60-4f0b-8c2e-0c1e6f0d9c1b", "a" * 64, "trace_1.2"):
        assert httpx.get(url, headers={"X-Request-Id": given}).headers["x-request-id"] == given
    for given in ("", "short", "a" * 65, "with space", 'quo"ted-id', "line\tfeed", "x" * 10_000):
        answer = httpx.get(url, headers={"X-Request-Id": given})
        assert MADE.fullmatch(answer.headers["x-request-id"])
    assert httpx.get(url).headers["x-request-id"] != httpx.get(url).headers["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("DELETE", "/v1/log/checkpoint", 405),
        ("GET", "/v1/log/entries?start=x&end=1", 422),
        ("GET", f"/v1/federations/{NAME}/priors/latest", 401),
        ("PUT", f"/v1/federations/{NAME}/rounds/1/openings/x", 401),
    ],
)
def test_a_refusal_tells_its_id(aggregator: Aggregator, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, aggregator.settings.origin + path, headers={"X-Request-Id": "trace-0001"})
    assert answer.status_code == status
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "trace-0001"


def test_one_line_for_each_request(aggregator: Aggregator, lines: list[dict[str, object]]) -> None:
    party = aggregator.parties["client-00"]
    party.view()
    httpx.get(f"{aggregator.settings.origin}/v1/log/entries?start={CANARY}&end=1", headers={"X-Request-Id": "trace-01"})
    signed, unsigned = lines
    assert signed["route"] == "/v1/federations/{federation}/rounds/current"
    assert (signed["method"], signed["status"], signed["problem"]) == ("GET", 200, None)
    assert signed["caller"] == caller_digest(signatures.key_id(party.client.public_key()))
    assert isinstance(signed["milliseconds"], float)
    assert unsigned["milliseconds"] is not None
    assert (unsigned["request_id"], unsigned["status"], unsigned["problem"]) == ("trace-01", 422, "encoding")
    assert (unsigned["route"], unsigned["caller"]) == ("/v1/log/entries", None)
    for line in lines:
        assert {"event", "log_level"} <= set(line)
        assert set(line) - {"log_level"} <= logs.FIELDS


def test_no_name_key_path_query_body_or_header_of_a_request_is_logged(
    aggregator: Aggregator, lines: list[dict[str, object]]
) -> None:
    party = aggregator.parties["client-01"]
    party.contribute()
    party.prior()
    origin = aggregator.settings.origin
    httpx.put(f"{origin}/v1/{CANARY}?a={CANARY}", content=CANARY.encode(), headers={"X-Canary": CANARY})
    httpx.request(f"BREW-{CANARY}"[:16], f"{origin}/v1/log/checkpoint")
    httpx.get(f"{origin}/v1/federations/{CANARY}/rounds/current", headers={"Signature-Input": CANARY, "Signature": ""})
    text = repr(lines)
    assert len(lines) >= 5
    for secret in (CANARY, NAME, party.name, signatures.key_id(party.client.public_key()), origin):
        assert secret not in text


def test_a_signature_that_does_not_hold_names_nobody(aggregator: Aggregator, lines: list[dict[str, object]]) -> None:
    party = aggregator.parties["client-02"]
    party.view()
    request = party.transport.requests[-1]
    answer = party.transport.again(httpx.Request("GET", f"{request.url}?wait=1", headers=request.headers))
    assert answer.status_code == 401
    # A line is written after its answer went out, so that one of an earlier test may still come.
    held = caller_digest(signatures.key_id(party.client.public_key()))
    wait_until(lambda: [line for line in lines if line["request_id"] == answer.headers["x-request-id"]])
    refused = [line["caller"] for line in lines if line["request_id"] == answer.headers["x-request-id"]]
    assert refused == [None]
    assert held in {line["caller"] for line in lines}


def away() -> Statistics:
    raise Unavailable("the database does not answer")


def failing(error: Exception) -> tuple[TestClient, Metrics]:
    app, metrics = FastAPI(), Metrics(away)
    problems.install(app)

    @app.get("/v1/things/{name}")
    def fails(name: str) -> None:
        assert name == "7"
        raise error

    app.add_middleware(Observed, metrics=metrics, log_requests=True)
    return TestClient(app, raise_server_exceptions=False), metrics


def test_an_unforeseen_failure_has_the_same_id_everywhere(lines: list[dict[str, object]]) -> None:
    client, metrics = failing(KeyError(CANARY))
    answer = client.get("/v1/things/7", headers={"X-Request-Id": "trace-0001"})
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "trace-0001"
    unforeseen = next(line for line in lines if line["event"] == "unforeseen")
    request = next(line for line in lines if line["event"] == "request")
    assert unforeseen["request_id"] == request["request_id"] == "trace-0001"
    assert request["status"] == 500
    assert CANARY not in repr(lines)
    labels = {"method": "GET", "route": "/v1/things/{name}", "status": "500"}
    assert metrics.registry.get_sample_value("fgpr_http_requests_total", labels) == 1


def test_a_method_that_somebody_made_up_is_cut_short(lines: list[dict[str, object]]) -> None:
    # The server's parser knows few methods; another one in front of the application may let more through.
    client, _ = failing(Conflict("no"))
    client.request("X" * 16 + CANARY, "/v1/things/7")
    assert [line["method"] for line in lines] == ["X" * 16]


@pytest.mark.parametrize(("error", "slug"), [(Conflict("no"), "conflict"), (Unavailable("no"), "unavailable")])
def test_refusals_are_counted_by_their_reason(error: Exception, slug: str) -> None:
    client, metrics = failing(error)
    for _ in range(3):
        client.get("/v1/things/7")
    assert metrics.registry.get_sample_value("fgpr_refusals_total", {"problem": slug}) == 3
