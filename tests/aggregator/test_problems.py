import json
from typing import Annotated, Any, Literal

import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict
from starlette.testclient import TestClient

from aggregator import problems
from client_agent.problems import KINDS
from fgpr import errors
from fgpr.errors import FgprError

CANARY = "canary-5e1f"


def tree(kind: type[FgprError]) -> list[type[FgprError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in tree(child))]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    x: float
    kind: Literal["a"] = "a"


def client_of(error: Exception | None = None) -> TestClient:
    app = FastAPI()
    problems.install(app)

    @app.get("/fails")
    def fails() -> None:
        assert error is not None
        raise error

    @app.put("/strict")
    def strict(body: Strict) -> float:
        return body.x

    @app.get("/page")
    def page(size: Annotated[int, Query(le=9)] = 1) -> int:
        return size

    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("kind", tree(FgprError)[1:], ids=lambda kind: kind.slug)
def test_every_error_has_a_status_and_a_slug_of_its_own(kind: type[FgprError]) -> None:
    status = problems.status_of(kind)
    assert status is not None, f"{kind.__name__} needs a status in aggregator.problems.STATUSES"
    assert 400 <= status < 600
    assert [other for other in tree(FgprError) if other.slug == kind.slug] == [kind]


def test_a_new_branch_of_the_tree_has_no_status_by_chance() -> None:
    assert problems.status_of(FgprError) is None


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.Unauthenticated, 401),
        (errors.Forbidden, 403),
        (errors.UnknownResource, 404),
        (errors.Conflict, 409),
        (errors.IllegalTransition, 409),
        (errors.TooLate, 410),
        (errors.TooLarge, 413),
        (errors.EncodingError, 422),
        (errors.DataError, 422),
        (errors.RemoteProtocolError, 422),
        (errors.PlanRefused, 422),
        (errors.VerificationError, 422),
        (errors.NumericalError, 500),
        (errors.Unavailable, 503),
    ],
)
def test_the_statuses(kind: type[FgprError], status: int) -> None:
    assert problems.status_of(kind) == status


def test_the_agent_knows_every_error_by_its_type() -> None:
    verdicts = {errors.PlanRefused, errors.CohortRefused}
    assert set(KINDS.values()) == set(tree(FgprError)) - verdicts
    assert all(name == f"urn:fgpr:problem:{kind.slug}" for name, kind in KINDS.items())


def test_a_refusal_is_a_problem_document() -> None:
    answer = client_of(errors.TooLate("round 3 is closed", round=4, status=1, type="mine")).get("/fails")
    assert answer.status_code == 410
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:fgpr:problem:too-late",
        "title": "Too late",
        "status": 410,
        "detail": "round 3 is closed",
        "round": 4,
    }


@pytest.mark.parametrize(("details", "seconds"), [({}, "2"), ({"retry_after": 7}, "7"), ({"retry_after": None}, "2")])
def test_unavailable_says_when_to_try_again(details: dict[str, Any], seconds: str) -> None:
    answer = client_of(errors.Unavailable("the database is away", **details)).get("/fails")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, seconds)


def test_unauthenticated_says_what_to_sign() -> None:
    answer = client_of(errors.Unauthenticated("the request is not signed")).get("/fails")
    assert answer.headers["accept-signature"] == (
        'fgpr=("@method" "@authority" "@path" "@query");created;keyid;nonce;alg="ed25519";tag="fgpr-v1"'
    )


def test_too_large_ends_the_connection() -> None:
    assert client_of(errors.TooLarge("9 bytes")).get("/fails").headers["connection"] == "close"


@pytest.mark.parametrize("reason", ["half a pair: \ud800", "ü\n\x00", "x" * 10_000])
def test_any_reason_makes_a_document(reason: str) -> None:
    answer = client_of(errors.EncodingError(reason)).get("/fails")
    assert answer.status_code == 422
    assert json.loads(answer.content)["detail"] == reason[:500]


@pytest.mark.parametrize(
    "body",
    [
        f'{{"x": "{CANARY}"}}',
        f'{{"x": 1.0, "{CANARY}": 1}}',
        f'{{"x": 1.0, "kind": "{CANARY}"}}',
        f'["{CANARY}"]',
        f'{{"{CANARY}"',
        f'{{"x": NaN, "kind": "{CANARY}"}}',
        '{"x": {"y": NaN}}',
    ],
)
def test_an_invalid_body_is_refused_and_never_echoed(body: str) -> None:
    answer = client_of().put("/strict", content=body.encode(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:fgpr:problem:encoding")
    assert CANARY not in answer.text
    assert "NaN" not in answer.text
    assert answer.json()["detail"].startswith("body: ")


@pytest.mark.parametrize(("size", "rule"), [(CANARY, "int_parsing"), ("10", "less_than_equal")])
def test_an_invalid_parameter_is_named_with_its_rule(size: str, rule: str) -> None:
    answer = client_of().get("/page", params={"size": size})
    assert (answer.status_code, answer.json()["detail"]) == (422, f"query.size: {rule}")


def test_the_frameworks_refusals_are_problems_too() -> None:
    client = client_of()
    missing = client.get("/nowhere")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:fgpr:problem:unknown-resource")
    method = client.delete("/page")
    assert (method.status_code, method.headers["allow"]) == (405, "GET")
    assert method.json() == {
        "type": "about:blank",
        "title": "Method Not Allowed",
        "status": 405,
        "detail": "Method Not Allowed",
    }


def test_an_unforeseen_failure_keeps_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    answer = client_of(KeyError(CANARY)).get("/fails")
    logged = "".join(capsys.readouterr())
    document = answer.json()
    assert (answer.status_code, document["type"], document["title"]) == (500, "about:blank", "Internal Server Error")
    assert CANARY not in answer.text
    assert "KeyError" not in answer.text
    assert document["request_id"] in document["detail"]
    assert document["request_id"] in logged
    assert "KeyError" in logged
    assert CANARY not in logged
