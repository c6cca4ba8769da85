import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aggregator.problems import problem
from client_agent.problems import KINDS, refusal
from fgpr import errors
from fgpr.errors import FgprError, RemoteProtocolError, RequestError, Unauthenticated

NOW = datetime(2031, 3, 9, 12, 0, 0, tzinfo=UTC)


def told(**document: Any) -> FgprError:
    return refusal(422, json.dumps(document).encode(), NOW)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.slug)
def test_every_error_of_the_aggregator_comes_back_as_itself(kind: type[FgprError]) -> None:
    error = kind("why")
    if isinstance(error, RequestError):
        error.details = {"round": 4, "stage": "OPENING"}
    answer = problem(error)
    again = refusal(answer.status_code, bytes(answer.body), NOW)
    assert type(again) is kind
    assert str(again) == "why"
    if isinstance(error, RequestError):
        assert isinstance(again, RequestError)
        assert again.details == error.details


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"\xff",
        b'{"type": "about:blank", "title": "Teapot"}',
        b'{"type": "urn:fgpr:problem:new"}',
        b'{"type": "too-late"}',
        b'{"type": ["urn:fgpr:problem:too-late"]}',
        b"[" * 10_000,
    ],
)
def test_an_unknown_problem_is_a_protocol_error_with_its_status(content: bytes) -> None:
    error = refusal(418, content, NOW)
    assert type(error) is RemoteProtocolError
    assert "418" in str(error)


def test_a_clients_own_verdict_does_not_come_over_the_wire() -> None:
    assert type(told(type="urn:fgpr:problem:plan-refused", detail="no")) is RemoteProtocolError


def test_members_that_are_no_details_are_dropped() -> None:
    error = told(type="urn:fgpr:problem:conflict", detail="d", reason="r", self=1, list=[1], instance="/x", first="c1")
    assert isinstance(error, errors.Conflict)
    assert error.details == {"reason": "r", "self": 1, "first": "c1"}


def test_a_reason_cannot_steer_a_terminal() -> None:
    assert str(told(type="urn:fgpr:problem:conflict", detail="a\x1b[2Jb\nc")) == "a [2Jb c"
    assert len(str(told(type="urn:fgpr:problem:conflict", detail="x" * 10_000))) == 1000


@pytest.mark.parametrize(
    ("ahead", "says"), [(61, "61 s ahead of the aggregator's"), (-90, "90 s behind the aggregator's")]
)
def test_clock_skew_tells_the_offset(ahead: int, says: str) -> None:
    server_time = (NOW - timedelta(seconds=ahead)).isoformat().replace("+00:00", "Z")
    error = told(type="urn:fgpr:problem:unauthenticated", detail="clock skew", server_time=server_time)
    assert isinstance(error, Unauthenticated)
    assert says in str(error)
    assert error.details == {"server_time": server_time, "offset_seconds": ahead}


@pytest.mark.parametrize("server_time", ["noon", "2031-03-09T12:00:00", 5, None])
def test_a_server_time_that_is_none_is_passed_over(server_time: Any) -> None:
    error = told(type="urn:fgpr:problem:unauthenticated", detail="clock skew", server_time=server_time)
    assert isinstance(error, Unauthenticated)
    assert str(error) == "clock skew"
