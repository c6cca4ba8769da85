"""Signatures of answers against the library that agents verify them with, and against its own signer."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import answers
from aggregator.answers import Answer, Request, Signer
from client_agent.answers import AnswerVerifier
from fgpr import signatures
from fgpr.errors import RemoteProtocolError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NOW = datetime(2031, 3, 9, 21, 30, tzinfo=UTC)
SIGNATURE = "fgpr=:" + "A" * 86 + "==:"
BODY = b'{"round":3}'

PLAIN = [
    Request(
        "GET", "http://127.0.0.1:8000/v1/federations/engines/rounds/current?seen=a&wait=30", {"signature": SIGNATURE}
    ),
    Request("PUT", "https://fgpr.example/v1/x", {"signature": SIGNATURE, "signature-input": "fgpr=()"}),
    Request("GET", "https://fgpr.example/prefix/v1/log/entries?start=0&end=7", {}),
    Request("HEAD", "http://127.0.0.1:8000/v1/log/checkpoint", {"accept": "*/*"}),
]
OTHERS = [
    Request("GET", "https://fgpr.example:443/v1/log/checkpoint", {}),
    Request("GET", "http://fgpr.example:80/v1/log/checkpoint", {}),
    Request("GET", "https://FGPR.example/v1/log/checkpoint", {}),
    Request("GET", "https://fgpr.example/v1/%7Ea/../b", {}),
    Request("GET", "https://fgpr.example/v1/log?a=%20", {}),
    Request("GET", "https://fgpr.example", {}),
    Request("POST", "https://fgpr.example/v1/enrolments", {}),
    Request("GET", "https://fgpr.example/v1/x", {"signature": f"{SIGNATURE}, other=:AAAA:"}),
    Request("GET", "https://fgpr.example/v1/x", {"signature": "other=:AAAA:"}),
    Request("GET", "https://fgpr.example/v1/x", {"signature": "nonsense ="}),
]


def signed(request: Request, status: int = 200) -> Answer:
    answer = Answer(status, {}, request)
    Signer(KEY, lambda: NOW).sign(answer, BODY)
    return answer


def check(answer: Answer, request: Request, body: bytes = BODY) -> None:
    response: Any = SimpleNamespace(status_code=answer.status_code, headers=answer.headers, request=request)
    AnswerVerifier(signatures.public_bytes(KEY)).check(response, body)


@pytest.mark.parametrize("request_", PLAIN)
def test_what_is_put_together_here_is_what_the_library_verifies_and_makes(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = signed(request_)
    check(made, request_)
    monkeypatch.setattr(answers, "_bound", lambda _: None)
    by_library = signed(request_)
    for name in ("Content-Digest", "Signature-Input"):
        parts = [sorted(re.split("[;=] ?", answer.headers[name])) for answer in (made, by_library)]
        assert parts[0] == parts[1]


@pytest.mark.parametrize("request_", OTHERS)
def test_every_other_form_is_left_to_the_library(request_: Request) -> None:
    assert answers._bound(request_) is None
    plain = Request(request_.method, request_.url, {}) if "nonsense" in str(request_.headers) else request_
    if "other" not in str(request_.headers) or SIGNATURE in str(request_.headers):
        check(signed(request_), plain)


@pytest.mark.parametrize("other", PLAIN[1:])
def test_an_answer_holds_for_no_other_request_status_or_body(other: Request) -> None:
    answer = signed(PLAIN[2])
    if other != PLAIN[2]:
        with pytest.raises(RemoteProtocolError):
            check(answer, other)
    with pytest.raises(RemoteProtocolError):
        check(Answer(404, answer.headers, PLAIN[2]), PLAIN[2])
    with pytest.raises(RemoteProtocolError):
        check(answer, PLAIN[2], b"{}")
