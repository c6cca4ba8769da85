import base64
import hashlib
import json
from typing import Any

import pytest

from fgpr.errors import EncodingError
from fgpr.ticket import Ticket, secret_hash

SECRET = bytes(range(200, 232))
TICKET = Ticket(
    origin="https://fgpr.example.org/base",
    federation="engines",
    client="bench-7",
    role="client",
    secret=SECRET,
    expires="2031-03-09T21:30:00.000Z",
    service_key=bytes(32),
    roster_key=bytes([1]) * 32,
    suite="x25519",
    weight_cap=None,
)


def line(value: Any) -> str:
    return "fgpr1." + base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_ticket_is_one_line_that_can_be_mailed_and_copied() -> None:
    text = TICKET.to_text()
    assert text.startswith("fgpr1.")
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    assert Ticket.from_text(text) == TICKET
    assert Ticket.from_text(f"  {text}\n") == TICKET
    assert Ticket.from_text(text).to_text() == text


@pytest.mark.parametrize("between", ["\n", "\r\n", " \n  ", "\u00a0"])
def test_lines_that_a_mail_broke_are_one_ticket(between: str) -> None:
    text = TICKET.to_text()
    assert Ticket.from_text(between.join(text[start : start + 76] for start in range(0, len(text), 76))) == TICKET


def test_a_ticket_hides_its_secret() -> None:
    for shown in (repr(TICKET), str(TICKET)):
        for form in (repr(SECRET)[2:-1], SECRET.hex(), base64.b64encode(SECRET).decode()):
            assert form not in shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begins with"),
        (TICKET.to_text().removeprefix("fgpr1."), "begins with"),
        (TICKET.to_text().replace("fgpr1", "fgpr2"), "begins with"),
        (TICKET.to_text()[:-1], "ticket|Ticket|JSON|UTF-8"),
        (TICKET.to_text()[:60], "JSON|base64url"),
        ("fgpr1.a*b", "base64url"),
        ("fgpr1.ü", "base64url"),
        ("fgpr1.", "JSON"),
    ],
)
def test_what_was_not_copied_whole_says_so(text: str, reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        Ticket.from_text(text)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secret": base64.b64encode(SECRET[1:]).decode()}, "secret"),
        ({"secret": SECRET.hex()}, "secret"),
        ({"role": "operator"}, "role"),
        ({"origin": "ftp://fgpr.example.org"}, "origin"),
        ({"origin": "https://fgpr.example.org/?a=1"}, "origin"),
        ({"client": "Bench 7"}, "client"),
        ({"federation": ""}, "federation"),
        ({"expires": "2031-03-09T21:30:00Z"}, "expires"),
        ({"expires": "2031-13-09T21:30:00.000Z"}, "expires"),
        ({"service_key": base64.b64encode(bytes(31)).decode()}, "service_key"),
        ({"colour": "blue"}, "colour"),
    ],
)
def test_a_field_out_of_form_is_named_and_its_content_is_not(change: dict[str, Any], field: str) -> None:
    with pytest.raises(EncodingError, match=field) as raised:
        Ticket.from_text(line(TICKET.to_json() | change))
    assert str(change[field]) not in str(raised.value) or change[field] == ""


def test_the_aggregator_keeps_a_labelled_hash() -> None:
    assert secret_hash(SECRET) == hashlib.sha256(b"fgpr-v1/ticket\x00" + SECRET).digest()
