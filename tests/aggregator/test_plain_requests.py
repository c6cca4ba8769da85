"""Requests in the form of agents: what is read here is what the library reads, and every other form is left to it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import auth, plain_requests
from aggregator.service.caller import Caller
from fgpr import signatures
from load.requests import Request, Writer

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = signatures.public_bytes(KEY)
ORIGIN = "http://127.0.0.1:8000"
EPOCH = "e" * 22
BODY = b'{"round":3}'
AGE, SKEW = timedelta(seconds=120), timedelta(seconds=30)

Line = tuple[str, str]


class Sent:
    """A request that an agent wrote."""

    def __init__(self, method: str = "PUT", path: str = "/v1/federations/engines/rounds/3", body: bytes = BODY) -> None:
        raw = Writer(ORIGIN, KEY, EPOCH).write(Request("", method, path, body))
        head = raw.partition(b"\r\n\r\n")[0].decode("ascii").split("\r\n")[1:]
        self.method, self.url, self.body = method, ORIGIN + path, body
        self.lines: list[Line] = [(name, value) for name, _, value in (line.partition(": ") for line in head)]

    def read(self) -> plain_requests.PlainRequest | None:
        return plain_requests.read(self.method, self.url, self.lines, self.body)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        self.lines = [(each, change(value) if each == name else value) for each, value in self.lines]


def holder(plain: plain_requests.PlainRequest, now: datetime, epoch: str = EPOCH, key: bytes = PUBLIC) -> Caller | None:
    return plain.holder({plain.key_id: key}.get, now, epoch, AGE, SKEW)


@pytest.mark.parametrize(
    "sent",
    [Sent(), Sent("GET", body=b""), Sent("GET", "/v1/federations/engines/rounds/current?seen=1.opening&wait=30", b"")],
)
def test_what_agents_write_is_taken_as_the_library_takes_it(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = sent.read()
    assert plain is not None
    now = datetime.fromtimestamp(plain.created, UTC)
    taken = holder(plain, now)
    assert taken is not None
    monkeypatch.setattr(plain_requests, "read", lambda *_: None)
    path, _, query = sent.url.removeprefix(ORIGIN).partition("?")

    class Headers(dict[str, str]):
        pass

    headers = Headers({name.lower(): value for name, value in sent.lines})
    found = {plain.key_id: PUBLIC}.get
    judged = auth.verify_request(
        sent.method, path, query, headers, sent.body, origin=ORIGIN, find_key=found, now=now, epoch=EPOCH
    )
    assert taken == judged


@pytest.mark.parametrize("seconds", [-31, -30, 0, 120, 121])
def test_in_time_only(seconds: int) -> None:
    plain = Sent().read()
    assert plain is not None
    now = datetime.fromtimestamp(plain.created + seconds, UTC)
    assert (holder(plain, now) is not None) == (-30 <= seconds <= 120)


def test_another_epoch_key_or_signature_is_not_taken() -> None:
    plain = Sent().read()
    assert plain is not None
    now = datetime.fromtimestamp(plain.created, UTC)
    assert holder(plain, now, epoch="f" * 22) is None
    assert holder(plain, now, key=signatures.public_bytes(Ed25519PrivateKey.generate())) is None
    assert holder(plain, now, key=b"") is None
    changed = Sent()
    changed.method = "POST"
    other = changed.read()
    assert other is not None
    assert holder(other, now) is None


CHANGES: dict[str, Callable[[Sent], None]] = {
    "body": lambda sent: setattr(sent, "body", BODY + b" "),
    "body gone": lambda sent: setattr(sent, "body", b""),
    "another type": lambda sent: sent.change("Content-Type", lambda _: "application/json; charset=utf-8"),
    "a component less": lambda sent: sent.change("Signature-Input", lambda text: text.replace(' "content-type"', "")),
    "another order": lambda sent: sent.change(
        "Signature-Input", lambda text: text.replace('"@method" "@authority"', '"@authority" "@method"')
    ),
    "no nonce": lambda sent: sent.change("Signature-Input", lambda text: re.sub(r";nonce=\"[^\"]*\"", "", text)),
    "another tag": lambda sent: sent.change("Signature-Input", lambda text: text.replace("fgpr-v1", "other")),
    "another label": lambda sent: sent.change("Signature", lambda text: text.replace("fgpr", "other")),
    "two signatures": lambda sent: sent.lines.append(("signature", "other=:AAAA:")),
    "two inputs": lambda sent: sent.lines.append(("Signature-Input", 'fgpr=("@method")')),
    "two types": lambda sent: sent.lines.insert(0, ("content-type", "text/plain")),
    "unsigned": lambda sent: sent.lines.clear(),
    "an escape": lambda sent: setattr(sent, "url", f"{ORIGIN}/v1/%61"),
    "dots": lambda sent: setattr(sent, "url", f"{ORIGIN}/v1/../x"),
    "a default port": lambda sent: setattr(sent, "url", "http://fgpr.example:80/v1/x"),
    "capitals": lambda sent: setattr(sent, "url", "http://FGPR.example/v1/x"),
    "a small method": lambda sent: setattr(sent, "method", "put"),
    "another spelling of the signature": lambda sent: sent.change("Signature", lambda _: "fgpr=:" + "A" * 85 + "B==:"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_other_form_is_left_to_the_library(name: str) -> None:
    sent = Sent()
    CHANGES[name](sent)
    assert sent.read() is None


def test_a_digest_without_a_body_is_left_to_the_library() -> None:
    sent = Sent("GET", body=b"")
    sent.lines.append(("Content-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"))
    assert sent.read() is None
