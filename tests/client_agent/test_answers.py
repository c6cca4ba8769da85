"""Answers that somebody in between makes up, changes or brings back are none, over a real server."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.intake.bodies import Bodies
from aggregator.service import rotation
from client_agent.api import Api
from fgpr import signatures
from fgpr.errors import (
    Conflict,
    Forbidden,
    QuotaExceeded,
    RemoteProtocolError,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnknownResource,
)
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party

STRANGER = Ed25519PrivateKey.generate()


class Proxy(httpx.BaseTransport):
    """Where TLS ends: sees every request, and does with the answers as it likes."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport(verify=False)
        self.change: Callable[[httpx.Response], httpx.Response] = lambda response: response
        self.seen: list[httpx.Response] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        content = response.read()
        whole = httpx.Response(response.status_code, headers=response.headers, content=content)
        self.seen.append(whole)
        return self.change(whole)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    with served(tmp_path_factory.mktemp("answers"), keeps_deadlines=False) as made:
        made.enrol(5)
        made.advance()
        yield made


@pytest.fixture
def party(aggregator: Aggregator) -> Party:
    return aggregator.parties["client-00"]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()


@pytest.fixture
def api(aggregator: Aggregator, party: Party, proxy: Proxy) -> Api:
    return connect(aggregator, party.client.identity_key, proxy)


def connect(aggregator: Aggregator, key: Ed25519PrivateKey, proxy: Proxy, service_key: bytes | None = None) -> Api:
    trusted = service_key or aggregator.context.service_public()
    origin = aggregator.settings.origin
    return Api(
        origin, NAME, key, transport=proxy, clock=aggregator.clock, attempts=1, wait_initial=0.0, service_key=trusted
    )


def test_answers_and_refusals_of_every_kind_hold(aggregator: Aggregator, api: Api, party: Party, proxy: Proxy) -> None:
    body = party.contribution()
    assert api.get("rounds/current", {"seen": "a b&c", "wait": 0})
    assert api.get_public("/v1/log/entries", {"start": 0, "end": 2})
    assert api.put("rounds/1/contributions/client-00", body)
    with pytest.raises(UnknownResource):
        api.get("priors/7")
    with pytest.raises(Forbidden):
        api.put("rounds/1/contributions/client-01", body)
    with pytest.raises(Conflict):
        api.put("rounds/1/contributions/client-00", body[:-1] + b" }")
    with pytest.raises(Unauthenticated):
        connect(aggregator, STRANGER, proxy).get("priors/latest")
    with connect(aggregator, aggregator.parties["client-04"].client.identity_key, proxy) as leaving:
        assert leaving.delete("clients/client-04") == b""
    assert all("content-digest" in seen.headers for seen in proxy.seen)


def test_another_aggregator_s_key(aggregator: Aggregator, party: Party, proxy: Proxy) -> None:
    other = connect(aggregator, party.client.identity_key, proxy, signatures.public_bytes(STRANGER))
    with pytest.raises(RemoteProtocolError, match="did not sign"):
        other.get("rounds/current")


def changed(**changes: object) -> Callable[[httpx.Response], httpx.Response]:
    def change(response: httpx.Response) -> httpx.Response:
        headers = {name: value for name, value in response.headers.items() if name not in changes}
        content, status = changes.get("content", response.content), changes.get("status", response.status_code)
        headers |= {"content-length": str(len(content))}  # type: ignore[arg-type]  # bytes
        return httpx.Response(status, headers=headers, content=content)  # type: ignore[arg-type]  # as above

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed(content=b'{"forged": true}'),
        changed(content=b""),
        changed(status=201),
        changed(signature=None),
        changed(**{"signature-input": None}),
        changed(**{"content-digest": None}),
        changed(**{"signature": None, "signature-input": None, "content-digest": None}),
        lambda _: httpx.Response(403, json={"type": "urn:fgpr:problem:forbidden", "detail": "you were revoked"}),
        lambda _: httpx.Response(410, json={"type": "urn:fgpr:problem:too-late", "detail": "too late"}),
        lambda _: httpx.Response(200, json={}),
    ],
)
def test_what_is_changed_or_made_up_is_refused(
    api: Api, proxy: Proxy, change: Callable[[httpx.Response], httpx.Response]
) -> None:
    for read in (lambda: api.get("rounds/current"), lambda: api.get_public("/v1/log/checkpoint")):
        proxy.change = lambda response: response
        assert read()
        proxy.change = change
        with pytest.raises(RemoteProtocolError, match="did not sign"):
            read()


def test_an_old_answer_is_for_no_other_request(api: Api, proxy: Proxy) -> None:
    assert api.get("rounds/current")
    old = proxy.seen[-1]
    proxy.change = lambda _: old
    # The very same question, signed anew, has another nonce.
    with pytest.raises(RemoteProtocolError, match="did not sign"):
        api.get("rounds/current")
    with pytest.raises(RemoteProtocolError, match="did not sign"):
        api.get_public("/v1/log/checkpoint")


def test_an_answer_to_an_unsigned_request_is_for_its_address(api: Api, proxy: Proxy) -> None:
    assert api.get_public("/v1/log/entries", {"start": 0, "end": 1})
    old = proxy.seen[-1]
    proxy.change = lambda _: old
    assert api.get_public("/v1/log/entries", {"start": 0, "end": 1})
    for path, params in (("/v1/log/entries", {"start": 0, "end": 2}), ("/v1/log/checkpoint", None)):
        with pytest.raises(RemoteProtocolError, match="did not sign"):
            api.get_public(path, params)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_what_is_said_before_the_routes_is_worth_another_try_only(api: Api, proxy: Proxy, status: int) -> None:
    """A gateway signs nothing, nor does the aggregator for who is over an allowance."""
    proxy.change = lambda _: httpx.Response(status, text="not now")
    with pytest.raises(Unavailable):
        api.get("rounds/current")
    # Nor is anything else believed of it, such as that a quota is used up.
    quota = {"type": "urn:fgpr:problem:quota-exceeded", "detail": "for ever"}
    proxy.change = lambda _: httpx.Response(status, json=quota)
    with pytest.raises(Unavailable):
        api.get("rounds/current")


def test_a_quota_is_believed_where_it_is_signed_and_not_tried_again(
    party: Party, api: Api, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "ROTATIONS_A_DAY", 0)
    monkeypatch.setattr(api, "_attempts", 3)
    # Learns the epoch.
    assert api.get("rounds/current")
    before = len(proxy.seen)
    with pytest.raises(QuotaExceeded, match="within a day"):
        api.put(f"clients/{party.name}/key", party.rotation(Ed25519PrivateKey.generate()))
    assert len(proxy.seen) == before + 1


def test_an_address_over_its_allowance_costs_no_signature(aggregator: Aggregator, api: Api, proxy: Proxy) -> None:
    def empty(_key: str) -> None:
        raise TooMany("too many requests", retry_after=1)

    bodies = next(one for one in aggregator.app.user_middleware if one.cls is Bodies)
    addresses = bodies.kwargs["addresses"]
    real, addresses.take = addresses.take, empty
    try:
        with pytest.raises(Unavailable, match="too many"):
            api.get("rounds/current")
    finally:
        addresses.take = real
    assert proxy.seen[-1].status_code == 429
    assert "signature" not in proxy.seen[-1].headers
    assert api.get("rounds/current")
    assert "signature" in proxy.seen[-1].headers


def test_a_request_that_is_signed_by_nobody_s_rules(aggregator: Aggregator) -> None:
    """A Signature field that cannot be read: refused, and the refusal is signed all the same."""
    for value in ("?", "x=:AA==:", "fgpr=1"):
        answer = httpx.get(f"{aggregator.settings.origin}/v1/federations/{NAME}/rounds", headers={"Signature": value})
        assert answer.status_code == 401
        assert "signature" in answer.headers
