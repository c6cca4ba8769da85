import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Annotated, Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import Depends, FastAPI, Response

from aggregator import auth, problems, request_bodies
from aggregator.known_keys import KnownKeys
from aggregator.service.caller import Caller
from client_agent import api as api_module
from client_agent.api import Api
from fgpr import private_keys, signatures
from fgpr.errors import (
    LocalProtocolError,
    RemoteProtocolError,
    TooLarge,
    TooLate,
    Unauthenticated,
    Unavailable,
    UnknownResource,
)
from support.failing_server import RECEIPT, Failing, http
from support.wire import InProcess, serving

NOW = datetime(2031, 3, 9, 12, 0, 0, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY_ID = signatures.key_id(signatures.public_bytes(KEY))
ORIGIN = "https://fgpr.example/prefix"
CONTRIBUTION = "/v1/federations/turbofan/rounds/3/contribution"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, in seconds, which are not waited for."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waited.append))
    return waited


def application(origin: str = ORIGIN) -> FastAPI:
    app = FastAPI()
    problems.install(app)
    app.state.nonces = set()
    app.state.aggregator = SimpleNamespace(
        settings=SimpleNamespace(origin=origin),
        clock=lambda: NOW,
        epoch="",
        find_key={KEY_ID: signatures.public_bytes(KEY)}.get,
        known_key=KnownKeys().get,
        admit=id,
    )
    Signed = Annotated[Caller, Depends(auth.signed)]

    @app.api_route(CONTRIBUTION, methods=["PUT", "POST", "DELETE"])
    def contribute(caller: Signed, body: Annotated[bytes, Depends(request_bodies.raw_body)]) -> Response:
        if caller.nonce in app.state.nonces:
            raise Unauthenticated("the nonce was used before")
        app.state.nonces.add(caller.nonce)
        return Response(b"took " + body)

    @app.get("/v1/federations/turbofan/rounds")
    def rounds(_: Signed, state: str = "") -> Response:
        return Response(state)

    @app.get("/v1/late")
    def late(_: Signed) -> Response:
        raise TooLate("round 3 is closed", round=4)

    @app.get("/v1/log/checkpoint")
    def checkpoint() -> Response:
        return Response("checkpoint")

    return app


def connect(transport: httpx.BaseTransport, origin: str = ORIGIN, **options: Any) -> Api:
    return Api(origin, "turbofan", KEY, transport=transport, clock=lambda: NOW, **options)


def answering(*answers: httpx.Response | Exception) -> tuple[list[httpx.Request], httpx.MockTransport]:
    """A transport that gives these answers in turn, the last one for ever, and the requests that it was asked."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        given = answers[min(len(requests), len(answers)) - 1]
        if isinstance(given, Exception):
            raise given
        return given

    return requests, httpx.MockTransport(answer)


# The agent and the aggregator together


@pytest.mark.parametrize("origin", [ORIGIN, f"{ORIGIN}/"])
@pytest.mark.parametrize("strip", ["/prefix", ""])
def test_the_aggregator_takes_what_the_agent_signs(origin: str, strip: str) -> None:
    app = application()
    # Behind a proxy that leaves the prefix, the framework is told so.
    app.root_path = "" if strip else "/prefix"
    transport = InProcess(app, strip)
    with connect(transport, origin) as api:
        assert api.put("rounds/3/contribution", b'{"a":1}') == b'took {"a":1}'
        assert api.post(CONTRIBUTION, b"[]") == b"took []"
        assert api.delete("rounds/3/contribution") == b"took "
        assert api.get("rounds", {"state": "ü & b=c/ %41+[x]|^"}) == "ü & b=c/ %41+[x]|^".encode()
        assert api.get("rounds") == b""
    assert str(transport.requests[0].url) == f"{ORIGIN}{CONTRIBUTION}"


def test_a_public_read_carries_no_signature() -> None:
    transport = InProcess(application("https://h"))
    with connect(transport, "https://h") as api:
        assert api.get_public("/v1/log/checkpoint") == b"checkpoint"
    assert not {"signature", "signature-input"} & set(transport.requests[0].headers)


def test_refusals_arrive_as_the_same_classes() -> None:
    with connect(InProcess(application("https://h")), "https://h") as api:
        with pytest.raises(TooLate, match="round 3 is closed") as late:
            api.get("/v1/late")
        assert late.value.details == {"round": 4}
        with pytest.raises(UnknownResource):
            api.get("/v1/nowhere")
        with pytest.raises(RemoteProtocolError, match=r"405: Method Not Allowed"):
            api.get(CONTRIBUTION)
        with pytest.raises(TooLarge):
            api.put(CONTRIBUTION, bytes(request_bodies.BODY_LIMIT + 1))


@pytest.mark.parametrize(("ahead", "holds"), [(2, True), (30, True), (61, False), (-61, True), (-86400, False)])
def test_a_clock_that_is_off_learns_its_offset(ahead: int, holds: bool) -> None:
    transport = InProcess(application("https://h"))
    then = NOW + timedelta(seconds=ahead)
    with Api("https://h", "turbofan", KEY, transport=transport, clock=lambda: then) as api:
        if holds:
            assert api.get("rounds") == b""
        else:
            with pytest.raises(Unauthenticated, match="clock skew") as caught:
                api.get("rounds")
            assert caught.value.details == {"server_time": "2031-03-09T12:00:00Z", "offset_seconds": ahead}
            assert f"{abs(ahead)} s {'ahead of' if ahead > 0 else 'behind'} the aggregator's" in str(caught.value)
    assert len(transport.requests) == 1


@pytest.mark.slow
def test_over_a_socket_a_body_above_the_limit_is_too_large() -> None:
    app = application()
    with serving(app) as origin, Api(origin, "turbofan", KEY, clock=lambda: NOW) as api:
        app.state.aggregator.settings.origin = origin
        assert api.put(CONTRIBUTION, bytes(request_bodies.BODY_LIMIT)) == b"took " + bytes(request_bodies.BODY_LIMIT)
        with pytest.raises(TooLarge):
            api.put(CONTRIBUTION, bytes(2 * request_bodies.BODY_LIMIT))
        assert api.put(CONTRIBUTION, b"1") == b"took 1"


# Addresses


@pytest.mark.parametrize(
    ("origin", "url"),
    [
        ("http://h", "http://h/v1/x"),
        ("http://h/", "http://h/v1/x"),
        ("http://h/fgpr", "http://h/fgpr/v1/x"),
        ("http://h/fgpr/", "http://h/fgpr/v1/x"),
        ("http://h:8080/a/b", "http://h:8080/a/b/v1/x"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/x"),
    ],
)
def test_the_prefix_of_the_origin_stays(origin: str, url: str) -> None:
    requests, transport = answering(httpx.Response(200))
    with connect(transport, origin) as api:
        api.get("/v1/x")
    assert str(requests[0].url) == url


def test_a_path_without_a_slash_is_the_federations() -> None:
    requests, transport = answering(httpx.Response(200))
    with Api("http://h", "a b/c", KEY, transport=transport) as api:
        api.get("rounds/3")
    assert requests[0].url.raw_path == b"/v1/federations/a%20b%2Fc/rounds/3"


@pytest.mark.parametrize("origin", ["", "h", "/v1", "ftp://h", "http://", "http://h?x=1", "http://u:p@h", "http://h:x"])
def test_an_origin_that_is_no_address_is_refused(origin: str) -> None:
    with pytest.raises(LocalProtocolError):
        connect(answering(httpx.Response(200))[1], origin)


@pytest.mark.parametrize("path", ["a b", "a?b", "a#b", "ü", "%zz", "a/../../b", "a[0]", "a\nb"])
def test_a_path_that_is_not_encoded_is_refused(path: str) -> None:
    requests, transport = answering(httpx.Response(200))
    with connect(transport) as api, pytest.raises(LocalProtocolError, match="percent-encoded"):
        api.get(path)
    assert requests == []


# Attempts


def nonces(requests: list[httpx.Request]) -> set[str]:
    return {request.headers["signature-input"].split('nonce="')[1].split('"')[0] for request in requests}


@pytest.mark.parametrize(
    "failure",
    [
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.Response(408),
        httpx.Response(429),
        httpx.Response(502),
        httpx.Response(503),
        httpx.Response(504, content=b"<html>"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_passing_failure_is_tried_again_over_the_same_bytes(
    waits: list[float], method: str, failure: httpx.Response | Exception
) -> None:
    requests, transport = answering(failure, httpx.Response(200, content=b"done"))
    with connect(transport) as api:
        assert getattr(api, method.lower())("x", b'{"a":1}') == b"done"
    assert [request.content for request in requests] == [b'{"a":1}'] * 2
    assert len(nonces(requests)) == 2
    assert len(waits) == 1


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 409, 410, 413, 422, 500, 501])
def test_a_refusal_is_not_tried_again(waits: list[float], status: int) -> None:
    requests, transport = answering(httpx.Response(status, headers={"Location": "http://elsewhere/"}))
    with connect(transport) as api, pytest.raises(RemoteProtocolError, match=f"answered {status}"):
        api.put("x", b"1")
    assert (len(requests), waits) == (1, [])


def test_retries_write_nothing_to_standard_output() -> None:
    # In a process of its own: stamina would choose structlog there, which prints.
    code = """
import httpx, structlog
from client_agent.api import Api
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

answers = iter([httpx.Response(503), httpx.Response(200, content=b"done")])
transport = httpx.MockTransport(lambda _: next(answers))
with Api("https://h", "turbofan", Ed25519PrivateKey.generate(), transport=transport, wait_initial=0.0) as api:
    print(api.get("rounds").decode())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_retry_after_is_waited_for(waits: list[float]) -> None:
    requests, transport = answering(httpx.Response(503, headers={"Retry-After": "2"}), httpx.Response(200))
    with connect(transport) as api:
        api.put("x", b"1")
    assert (len(requests), waits) == (2, [2.0])


def test_a_retry_after_beyond_the_total_time_ends_at_once(waits: list[float]) -> None:
    requests, transport = answering(httpx.Response(503, headers={"Retry-After": "301"}))
    with connect(transport) as api, pytest.raises(Unavailable) as caught:
        api.put("x", b"1")
    assert (len(requests), waits) == (1, [])
    assert caught.value.details == {"retry_after": 301}


@pytest.mark.parametrize("retry_after", ["Wed, 09 Mar 2033 12:00:00 GMT", "-1", "1e9", "soon", ""])
def test_a_retry_after_that_is_no_number_leaves_the_backoff(waits: list[float], retry_after: str) -> None:
    _, transport = answering(httpx.Response(503, headers={"Retry-After": retry_after}), httpx.Response(200))
    with connect(transport) as api:
        api.put("x", b"1")
    assert 0.5 <= waits[0] <= 1.0


def test_attempts_end_with_the_reason(waits: list[float]) -> None:
    requests, transport = answering(httpx.ConnectError("Connection refused"))
    with connect(transport, attempts=4) as api, pytest.raises(Unavailable) as caught:
        api.put("rounds/3/contribution", b"1")
    assert len(requests) == 4
    assert str(caught.value) == f"PUT {CONTRIBUTION}: no answer from {ORIGIN}: ConnectError Connection refused"
    assert [0.5 <= waits[0] <= 1.0, 1.0 <= waits[1] <= 1.5, 2.0 <= waits[2] <= 2.5] == [True] * 3


def test_attempts_end_with_the_aggregators_own_reason(waits: list[float]) -> None:
    answer = problems.problem(Unavailable("the database is away"))
    _, transport = answering(httpx.Response(503, content=bytes(answer.body)))
    with connect(transport, attempts=2) as api, pytest.raises(Unavailable, match="the database is away"):
        api.put("x", b"1")
    assert len(waits) == 1


@pytest.mark.parametrize("headers", [{"Retry-After": "30"}, {}])
def test_time_ends_the_attempts(waits: list[float], monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]) -> None:
    seconds = iter(range(0, 10_000, 40))
    monkeypatch.setattr(api_module, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    requests, transport = answering(httpx.Response(503, headers=headers))
    with connect(transport, attempts=1000, total_seconds=100.0) as api, pytest.raises(Unavailable):
        api.put("x", b"1")
    assert 1 <= len(requests) <= 3
    assert sum(waits) <= 100


def test_an_answer_is_waited_for_a_minute() -> None:
    requests, transport = answering(httpx.Response(200))
    with connect(transport) as api:
        api.put("x", b"1")
    assert requests[0].extensions["timeout"] == {"connect": 10.0, "read": 60.0, "write": 60.0, "pool": 60.0}


# Answers


def test_an_answer_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "RESPONSE_LIMIT", 10)
    _, transport = answering(httpx.Response(200, content=bytes(10)), httpx.Response(200, content=bytes(11)))
    with connect(transport) as api:
        assert api.get("x") == bytes(10)
        with pytest.raises(RemoteProtocolError, match="more than 10 bytes"):
            api.get("x")


def test_a_compressed_answer_is_refused_packed() -> None:
    requests, transport = answering(
        httpx.Response(200, stream=httpx.ByteStream(b"x"), headers={"Content-Encoding": "gzip"})
    )
    with connect(transport) as api, pytest.raises(RemoteProtocolError, match="compressed"):
        api.get("x")
    assert requests[0].headers["accept-encoding"] == "identity"


def test_an_answer_that_drips_is_not_read_for_ever(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(api_module, "time", SimpleNamespace(monotonic=lambda: now))

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            nonlocal now
            while True:
                now += 59.0
                yield b"x"

    _, transport = answering(httpx.Response(200, stream=Dripping()))
    with connect(transport, attempts=1) as api, pytest.raises(Unavailable, match="too slowly"):
        api.get("x")
    assert waits == []


def test_neither_bodies_nor_keys_are_logged(
    waits: list[float], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    _, transport = answering(httpx.ConnectError("refused"))
    with connect(transport, attempts=3) as api, pytest.raises(Unavailable) as caught:
        api.put("x", b"canary-5e1f")
    written = caplog.text + "".join(capsys.readouterr()) + repr(caught.value)
    assert len(waits) == 2
    assert "refused" in written
    assert "canary" not in written
    assert private_keys.to_pem(KEY).decode().split("\n")[1] not in written


# A server that fails, on a real socket


def over_socket(server: Failing, call: Callable[[Api], bytes]) -> bytes:
    with Api(server.origin, "turbofan", KEY, timeout=httpx.Timeout(10.0)) as api:
        try:
            return call(api)
        finally:
            server.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "wait"),
    [
        pytest.param((b"", True), (0.5, 1.0), id="the body is stored, the reply dropped"),
        pytest.param((RECEIPT[:-3], True), (0.5, 1.0), id="the reply is cut off"),
        pytest.param((http("503 Busy", b"", "Retry-After: 2"), False), (2.0, 2.0), id="busy"),
    ],
)
def test_a_lost_reply_is_asked_for_again(
    waits: list[float], step: tuple[bytes, bool], wait: tuple[float, float]
) -> None:
    server = Failing(step, (RECEIPT, False))
    assert over_socket(server, lambda api: api.put("x", b'{"a":1}')) == b"receipt"
    assert server.bodies == [b'{"a":1}'] * 2
    assert len({head.split('nonce="')[1].split('"')[0] for head in server.heads}) == 2
    assert len(waits) == 1
    assert wait[0] <= waits[0] <= wait[1]


@pytest.mark.slow
def test_a_kept_connection_that_is_closed_at_the_next_request_is_opened_again(waits: list[float]) -> None:
    server = Failing((RECEIPT, False), (b"", True), (RECEIPT, False))
    assert over_socket(server, lambda api: api.get("x") + api.put("x", b"1")) == b"receiptreceipt"
    assert (server.bodies, len(waits)) == ([b"", b"1", b"1"], 1)


@pytest.mark.slow
def test_a_kept_connection_that_is_closed_while_idle_is_opened_again(waits: list[float]) -> None:
    server = Failing((RECEIPT, True), (RECEIPT, False))
    assert over_socket(server, lambda api: api.get("x") + api.put("x", b"1")) == b"receiptreceipt"
    assert server.bodies == [b"", b"1"]
    assert len(waits) <= 1


@pytest.mark.slow
def test_a_401_ends_it(waits: list[float]) -> None:
    content = bytes(problems.problem(Unauthenticated("the signature does not hold")).body)
    server = Failing((http("401 Unauthorized", content), False))
    with pytest.raises(Unauthenticated, match="does not hold"):
        over_socket(server, lambda api: api.put("x", b"1"))
    assert (len(server.bodies), waits) == (1, [])
