import base64
import contextlib
import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import httpx
import pytest
from cryptography.exceptions import InvalidSignature as InvalidBytes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from fastapi import Depends, FastAPI, Request, Response
from http_message_signatures import ContentDigest, HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from aggregator import auth, problems, request_bodies
from aggregator.auth import verify_request
from aggregator.public_url import public_url
from aggregator.service.caller import Caller
from client_agent.api import Api
from fgpr import signatures
from fgpr.errors import Unauthenticated, Unavailable
from fgpr.signed_requests import COVERED, COVERED_WITH_BODY, is_nonce
from support.wire import serving

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
ORIGIN = "https://fgpr.example/prefix"
NOW = datetime(2031, 3, 9, 12, 0, 0, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = signatures.public_bytes(KEY)
KEY_ID = signatures.key_id(PUBLIC)
BODY = b'{"a":1}'


@dataclasses.dataclass(frozen=True)
class Sent:
    """A request as it arrives."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    def with_header(self, name: str, value: str | None) -> "Sent":
        headers = {other: text for other, text in self.headers.items() if other != name}
        if value is not None:
            headers[name] = value
        return dataclasses.replace(self, headers=headers)


def arrived(request: httpx.Request) -> Sent:
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    return Sent(request.method, path, query, dict(request.headers), request.read())


def agent_sends(call: Callable[[Api], object], created: datetime = NOW) -> Sent:
    """What the agent's own client puts on the wire."""
    sent: list[Sent] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(arrived(request))
        return httpx.Response(200)

    with Api(ORIGIN, "turbofan", KEY, transport=httpx.MockTransport(answer), clock=lambda: created) as api:
        call(api)
    return sent[0]


def put(created: datetime = NOW) -> Sent:
    return agent_sends(lambda api: api.put("rounds/3/contributions/c1", BODY), created)


def get(created: datetime = NOW) -> Sent:
    return agent_sends(lambda api: api.get("rounds/3", {"since": 5, "name": "a b&c"}), created)


def hand_signed(
    components: Sequence[str], body: bytes | None = BODY, key: Ed25519PrivateKey = KEY, **params: Any
) -> Sent:
    """A request signed with the library directly: other components and parameters than ours."""
    request = httpx.Request(
        "PUT",
        f"{ORIGIN}/v1/x?y=1",
        content=body,
        headers={"Content-Type": "application/json", "Content-Digest": ContentDigest.create(body or b"")},
    )
    signing: dict[str, Any] = {
        "key_id": KEY_ID,
        "created": NOW,
        "nonce": "A" * 22,
        "label": "fgpr",
        "tag": "fgpr-v1",
        "covered_component_ids": components,
        "use_existing_digest": True,
    }
    keys = MappingKeyResolver(public_keys={}, private_keys={KEY_ID: key, "other": key})
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys).sign(request, **{**signing, **params})
    return arrived(request)


def verify(sent: Sent, now: datetime = NOW, origin: str = ORIGIN, keys: dict[str, bytes] | None = None) -> Caller:
    return verify_request(
        sent.method,
        sent.path,
        sent.query,
        sent.headers,
        sent.body,
        origin=origin,
        find_key=({KEY_ID: PUBLIC} if keys is None else keys).get,
        now=now,
    )


def refusal(sent: Sent, **options: Any) -> str:
    with pytest.raises(Unauthenticated) as caught:
        verify(sent, **options)
    return str(caught.value)


# The library, for what we rely on


@pytest.fixture(scope="module")
def vector() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((VECTORS / "rfc9421_ed25519.json").read_text())
    return document


def unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=")


def test_the_library_signs_the_vector_of_rfc_9421_b_2_6(vector: dict[str, Any]) -> None:
    key = Ed25519PrivateKey.from_private_bytes(unpadded(vector["jwk"]["d"]))
    headers = {name: text for name, text in vector["headers"].items() if not name.startswith("Signature")}
    request = SimpleNamespace(method=vector["method"], url=vector["url"], headers=dict(headers))
    signer = HTTPMessageSigner(
        signature_algorithm=ED25519,
        key_resolver=MappingKeyResolver(public_keys={}, private_keys={"test-key-ed25519": key}),
    )
    prepared = signer.prepare(
        request,
        key_id="test-key-ed25519",
        created=datetime.fromtimestamp(1618884473, UTC),
        label="sig-b26",
        include_alg=False,
        covered_component_ids=("date", "@method", "@path", "@authority", "content-type", "content-length"),
    )
    assert prepared.signature_base.decode() == "\n".join(vector["signature_base"])
    signer.apply(request, prepared, key.sign(prepared.signature_base))
    assert request.headers["Signature-Input"] == vector["headers"]["Signature-Input"]
    assert request.headers["Signature"] == vector["headers"]["Signature"]


def test_the_published_key_of_rfc_9421_verifies_the_vector_and_no_other_bytes(vector: dict[str, Any]) -> None:
    key = Ed25519PublicKey.from_public_bytes(unpadded(vector["jwk"]["x"]))
    base = "\n".join(vector["signature_base"]).encode()
    signature = base64.b64decode(vector["headers"]["Signature"].split(":")[1])
    algorithm = ED25519(public_key=key)  # type: ignore[no-untyped-call]  # the library's
    algorithm.verify(signature, base)
    with pytest.raises(InvalidBytes):
        algorithm.verify(signature, base.replace(b"POST", b"GET"))


def test_the_library_digests_as_rfc_9530(vector: dict[str, Any]) -> None:
    assert ContentDigest.create(vector["body"].encode()) == vector["content_digest_sha256"]


# What holds


def test_the_agents_requests_hold() -> None:
    sent = put()
    assert sent.path == "/prefix/v1/federations/turbofan/rounds/3/contributions/c1"
    caller = verify(sent)
    assert (caller.key_id, caller.public_key) == (KEY_ID, PUBLIC)
    assert is_nonce(caller.nonce)
    assert caller.nonce_expires == NOW + timedelta(seconds=150)
    assert verify(get()).key_id == KEY_ID


def test_what_the_agent_signs() -> None:
    covered = '("@method" "@authority" "@path" "@query" "content-type" "content-digest")'
    signature_input = put().headers["signature-input"]
    assert signature_input.startswith(
        f'fgpr={covered};created={int(NOW.timestamp())};keyid="{KEY_ID}";alg="ed25519";nonce="'
    )
    assert signature_input.endswith(';tag="fgpr-v1"')
    assert get().headers["signature-input"].startswith('fgpr=("@method" "@authority" "@path" "@query");created=')
    assert "content-digest" not in get().headers


def test_a_request_over_the_same_bytes_has_another_nonce() -> None:
    assert verify(put()).nonce != verify(put()).nonce


@pytest.mark.parametrize("path", ["/prefix/v1/x", "/v1/x"])
@pytest.mark.parametrize("origin", ["https://fgpr.example/prefix", "https://FGPR.example:443/prefix/"])
def test_a_proxy_may_strip_the_prefix_or_leave_it(path: str, origin: str) -> None:
    assert verify(dataclasses.replace(hand_signed(COVERED_WITH_BODY), path=path), origin=origin).key_id == KEY_ID


@pytest.mark.parametrize(
    ("origin", "path", "url"),
    [
        ("https://h", "/v1/x", "https://h/v1/x?q"),
        ("https://h/", "/v1/x", "https://h/v1/x?q"),
        ("https://h/fgpr", "/fgprs/x", "https://h/fgpr/fgprs/x?q"),
        ("https://h/fgpr", "/fgpr/v1/x", "https://h/fgpr/v1/x?q"),
    ],
)
def test_the_url_comes_from_the_origin(origin: str, path: str, url: str) -> None:
    assert public_url(origin, path, "q") == url


def test_the_host_header_plays_no_part() -> None:
    assert verify(put().with_header("host", "elsewhere.example")).key_id == KEY_ID


def test_further_components_and_signatures_are_welcome() -> None:
    assert verify(hand_signed((*COVERED_WITH_BODY, "@scheme", "@target-uri"))).key_id == KEY_ID
    sent = put()
    other = sent.with_header("signature-input", sent.headers["signature-input"] + ', proxy=("@path");created=1')
    assert verify(other.with_header("signature", sent.headers["signature"] + ", proxy=:AAAA:")).key_id == KEY_ID


# Changes on the way


def flipped(raw: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def test_every_flipped_bit_of_the_body_is_refused() -> None:
    sent = put()
    for body in flipped(BODY):
        assert "content digest" in refusal(dataclasses.replace(sent, body=body))


@pytest.mark.parametrize("part", ["method", "path", "query"])
def test_every_flipped_bit_of_a_derived_component_is_refused(part: str) -> None:
    sent = hand_signed(COVERED_WITH_BODY)
    for changed in flipped(getattr(sent, part).encode()):
        other: dict[str, Any] = {part: changed.decode("latin-1")}
        assert "does not hold" in refusal(dataclasses.replace(sent, **other))


def test_every_flipped_bit_of_the_authority_is_refused() -> None:
    sent, host = put(), b"fgpr.example"
    for changed in flipped(host):
        # Upper and lower case of a host are the same host.
        if changed.lower() != host:
            assert "does not hold" in refusal(sent, origin=f"https://{changed.decode('latin-1')}/prefix")
    refusal(sent, origin=f"{ORIGIN[:-7]}:8443/prefix")


@pytest.mark.parametrize("name", ["content-type", "content-digest", "signature-input"])
def test_every_flipped_bit_of_a_header_is_refused(name: str) -> None:
    sent = put()
    for changed in flipped(sent.headers[name].encode()):
        refusal(sent.with_header(name, changed.decode("latin-1")))


def test_every_flipped_bit_of_the_signature_is_refused() -> None:
    sent = put()
    text = sent.headers["signature"]
    # 64 bytes leave 4 bits of the last character unused, which RFC 8941 lets a parser ignore: the same signature.
    last = text.index("==:") - 1
    for changed in flipped(text.encode()):
        other = changed.decode("latin-1")
        if other[:last] + other[last + 1 :] != text[:last] + text[last + 1 :] or not same_bytes(other, text):
            refusal(sent.with_header("signature", other))


def same_bytes(one: str, other: str) -> bool:
    try:
        return base64.b64decode(one.split(":")[1], validate=True) == base64.b64decode(other.split(":")[1])
    except ValueError:
        return False


@pytest.mark.parametrize("name", ["content-type", "content-digest", "signature-input", "signature"])
def test_every_dropped_header_is_refused(name: str) -> None:
    refusal(put().with_header(name, None))


def test_repeated_lines_of_a_covered_header_are_refused() -> None:
    sent = put()
    lines = [*sent.headers.items(), ("content-type", "text/plain")]
    twice = Headers(raw=[(name.encode(), text.encode()) for name, text in lines])
    with pytest.raises(Unauthenticated, match="does not hold"):
        verify_request(
            sent.method, sent.path, sent.query, twice, BODY, origin=ORIGIN, find_key={KEY_ID: PUBLIC}.get, now=NOW
        )


def test_a_body_dropped_or_swapped_is_refused() -> None:
    assert "content digest" in refusal(dataclasses.replace(put(), body=b""))
    without = dataclasses.replace(put(), body=b"").with_header("content-digest", None)
    assert "does not hold" in refusal(without)


def test_a_body_added_to_a_request_without_one_is_refused() -> None:
    sent = dataclasses.replace(get(), body=BODY)
    assert "components missing from the signature: content-type, content-digest" in refusal(sent)
    assert "components missing" in refusal(
        sent.with_header("content-digest", ContentDigest.create(BODY)).with_header("content-type", "application/json")
    )


@pytest.mark.parametrize("dropped", COVERED_WITH_BODY)
def test_every_component_is_required_with_a_body(dropped: str) -> None:
    sent = hand_signed([name for name in COVERED_WITH_BODY if name != dropped])
    assert refusal(sent) == f"components missing from the signature: {dropped}"


@pytest.mark.parametrize("dropped", COVERED)
def test_every_component_is_required_without_a_body(dropped: str) -> None:
    assert verify(hand_signed(COVERED, body=None).with_header("content-digest", None)).key_id == KEY_ID
    sent = hand_signed([name for name in COVERED if name != dropped], body=None)
    assert refusal(sent) == f"components missing from the signature: {dropped}"


@pytest.mark.parametrize("instead", ['"content-digest";key="sha-256"', '"content-digest";sf', '"content-digest";bs'])
def test_a_component_with_parameters_is_another_component(instead: str) -> None:
    sent = hand_signed([*COVERED, "content-type", instead])
    assert refusal(sent) == "components missing from the signature: content-digest"


def test_a_digest_of_another_algorithm_does_not_stand_in() -> None:
    sent = put().with_header("content-digest", "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:")
    refusal(sent)


# Parameters and keys


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"nonce": None}, "parameters missing from the signature: nonce"),
        ({"include_alg": False}, "parameters missing from the signature: alg"),
        ({"nonce": "A" * 21}, "the nonce has to be"),
        ({"nonce": "A" * 87}, "the nonce has to be"),
        ({"nonce": "A" * 21 + "="}, "the nonce has to be"),
        ({"tag": None}, "does not hold"),
        ({"tag": "fgpr-v2"}, "does not hold"),
        ({"label": "other"}, "does not hold"),
        ({"key_id": "other"}, "does not hold"),
        ({"expires": NOW - timedelta(seconds=1)}, "clock skew"),
    ],
)
def test_a_parameter_missing_or_wrong_is_refused(changed: dict[str, Any], reason: str) -> None:
    assert reason in refusal(hand_signed(COVERED_WITH_BODY, **changed))


@pytest.mark.parametrize("dropped", ["created", "keyid", "nonce", "alg"])
def test_no_parameter_may_be_missing(dropped: str) -> None:
    sent = put()
    text = re.sub(rf';{dropped}=("[^"]*"|[0-9]+)', "", sent.headers["signature-input"])
    assert text != sent.headers["signature-input"]
    told = refusal(sent.with_header("signature-input", text))
    assert told == f"parameters missing from the signature: {dropped}"


def test_an_unknown_key_looks_like_a_bad_signature() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    unknown = refusal(put(), keys={})
    assert unknown == refusal(hand_signed(COVERED_WITH_BODY, key=other))
    assert unknown == "the signature does not hold for this request and an enrolled key"


@pytest.mark.parametrize("plain", [True, False])
def test_a_failed_look_up_is_no_bad_signature(plain: bool) -> None:
    def find_key(_: str) -> bytes | None:
        raise Unavailable("the database is away")

    sent = put() if plain else hand_signed((*COVERED_WITH_BODY, "@scheme"))
    with pytest.raises(Unavailable, match="database"):
        verify_request(
            sent.method, sent.path, sent.query, sent.headers, sent.body, origin=ORIGIN, find_key=find_key, now=NOW
        )


def test_an_unsigned_request_is_told_so() -> None:
    sent = agent_sends(lambda api: api.get_public("rounds/3"))
    assert "signature-input" not in sent.headers
    assert refusal(sent).startswith("the request is not signed")


# Clocks


@pytest.mark.parametrize(
    ("age", "holds"), [(119, True), (120, True), (121, False), (-29, True), (-30, True), (-31, False)]
)
@pytest.mark.parametrize("plain", [True, False])
def test_each_limit_of_created(age: int, holds: bool, plain: bool) -> None:
    created = NOW - timedelta(seconds=age)
    sent = put(created) if plain else hand_signed((*COVERED_WITH_BODY, "@scheme"), created=created)
    if holds:
        assert verify(sent).nonce_expires == created + timedelta(seconds=150)
    else:
        assert "clock skew" in refusal(sent)


@pytest.mark.parametrize(
    ("ahead", "says"),
    [
        (timedelta(seconds=61), "61 s after this server's time, 2031-03-09T12:00:00Z"),
        (timedelta(hours=-1), "3600 s before"),
        (timedelta(days=-1), "86400 s before this server's time, 2031-03-09T12:00:00Z"),
        (timedelta(days=36500), "after this server's time"),
    ],
)
def test_a_clock_that_is_off_is_told_the_servers_time(ahead: timedelta, says: str) -> None:
    with pytest.raises(Unauthenticated, match="clock skew") as caught:
        verify(put(NOW + ahead))
    assert says in str(caught.value)
    assert caught.value.details == {"server_time": "2031-03-09T12:00:00Z"}


def test_the_machines_own_clock_plays_no_part() -> None:
    for then in (datetime(1980, 1, 1, tzinfo=UTC), datetime(2300, 1, 1, tzinfo=UTC)):
        assert verify(put(then), now=then).key_id == KEY_ID
        # In a form that only the library reads.
        assert verify(hand_signed((*COVERED_WITH_BODY, "@scheme"), created=then), now=then).key_id == KEY_ID


@pytest.mark.parametrize("created", ["999999999999999", "-999999999999999", "1.5", '"1"', "?1", "@1", "abc", ""])
def test_a_created_that_is_no_time_is_refused(created: str) -> None:
    sent = put()
    text = sent.headers["signature-input"].replace(f"created={int(NOW.timestamp())}", f"created={created}")
    refusal(sent.with_header("signature-input", text))


# Garbage


@given(
    signature_input=st.text(st.characters(max_codepoint=255), max_size=60)
    | st.lists(
        st.sampled_from(
            [
                *'();=,?@:*" \t',
                "fgpr",
                "fgpr=",
                "created",
                "1",
                "tag",
                '"fgpr-v1"',
                "nonce",
                '"@method"',
                "keyid",
                ":AA==:",
            ]
        ),
        max_size=30,
    ).map("".join),
    signature=st.text(st.characters(max_codepoint=255), max_size=30)
    | st.lists(st.sampled_from([*'();=,?@:*" ', "fgpr=", ":AA==:", "1"]), max_size=10).map("".join),
)
def test_garbage_in_structured_fields_is_refused(signature_input: str, signature: str) -> None:
    sent = put()
    headers = {**sent.headers, "signature-input": signature_input, "signature": signature}
    with pytest.raises(Unauthenticated):
        verify_request(
            sent.method, sent.path, sent.query, headers, BODY, origin=ORIGIN, find_key={KEY_ID: PUBLIC}.get, now=NOW
        )


@given(suffix=st.text(st.sampled_from([*'();=,?@:*"% ', "a", "1", "\x80", "ü"]), min_size=1, max_size=12))
def test_garbage_after_real_fields_is_no_other_error(suffix: str) -> None:
    sent = put()
    for name in ("signature-input", "signature", "content-digest", "content-type"):
        headers = {**sent.headers, name: sent.headers[name] + suffix}
        # A parameter added to the Signature item, or trailing space, changes nothing that counts.
        with contextlib.suppress(Unauthenticated):
            caller = verify_request(
                sent.method, sent.path, sent.query, headers, BODY, origin=ORIGIN, find_key={KEY_ID: PUBLIC}.get, now=NOW
            )
            assert caller.key_id == KEY_ID


@pytest.mark.parametrize("path", ["/a b", "/%zz", "/ü", "//", "/../x", "", "/#", "http://h/x"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    assert "does not hold" in refusal(dataclasses.replace(put(), path=path))


# Dependencies


def nothing_known(_: str) -> bytes:
    raise auth.NotInMemory


def application(**state: Any) -> FastAPI:
    app = FastAPI()
    problems.install(app)
    app.state.aggregator = SimpleNamespace(
        settings=SimpleNamespace(origin=ORIGIN),
        epoch="",
        clock=lambda: NOW,
        find_key={KEY_ID: PUBLIC}.get,
        known_key=nothing_known,
        admit=id,
        **state,
    )

    @app.put("/v1/small", dependencies=[request_bodies.body_limit(8)])
    @app.put("/v1/plain")
    @app.get("/v1/plain")
    def echo(
        caller: Annotated[Caller, Depends(auth.signed)], body: Annotated[bytes, Depends(request_bodies.raw_body)]
    ) -> dict[str, Any]:
        return {"key_id": caller.key_id, "body": body.decode()}

    @app.post("/v1/enrolments")
    def enrol(request: Request, body: Annotated[bytes, Depends(request_bodies.raw_body)]) -> str:
        public_key = bytes.fromhex(json.loads(body)["key"])
        return auth.signed_with(request, body, {signatures.key_id(public_key): public_key}.get).key_id

    @app.put("/v1/unsigned")
    def size(body: Annotated[bytes, Depends(request_bodies.raw_body)]) -> Response:
        return Response(str(len(body)))

    return app


def signed_headers(method: str, path: str, body: bytes) -> dict[str, str]:
    sent = agent_sends(lambda api: api.get(path) if method == "GET" else getattr(api, method.lower())(path, body))
    names = ("content-type", "content-digest", "signature-input", "signature")
    return {name: sent.headers[name] for name in names if name in sent.headers}


def test_a_route_knows_its_caller_and_the_raw_body() -> None:
    client = TestClient(application())
    answer = client.put("/v1/plain", content=BODY, headers=signed_headers("PUT", "/v1/plain", BODY))
    assert answer.json() == {"key_id": KEY_ID, "body": BODY.decode()}
    answer = client.get("/v1/plain", headers=signed_headers("GET", "/v1/plain", b""))
    assert answer.json() == {"key_id": KEY_ID, "body": ""}


def test_a_route_may_find_the_key_in_the_body() -> None:
    client = TestClient(application())
    for public_key, status in ((PUBLIC, 200), (bytes(32), 401)):
        body = json.dumps({"key": public_key.hex()}).encode()
        headers = signed_headers("POST", "/v1/enrolments", body)
        assert client.post("/v1/enrolments", content=body, headers=headers).status_code == status


def test_the_query_and_an_escaped_path_are_verified_as_sent() -> None:
    client = TestClient(application())
    headers = signed_headers("GET", "/v1/plai%6E", b"")
    assert client.get("/v1/plai%6E", headers=headers).status_code == 200
    assert client.get("/v1/plain", headers=headers).status_code == 401
    assert client.get("/v1/plai%6E?x=1", headers=headers).status_code == 401


def test_a_route_refuses_an_unsigned_request_and_a_get_with_a_body() -> None:
    client = TestClient(application())
    assert client.put("/v1/plain", content=BODY).status_code == 401
    answer = client.request("GET", "/v1/plain", content=BODY, headers=signed_headers("GET", "/v1/plain", b""))
    assert answer.status_code == 401


@pytest.mark.parametrize(("size", "status"), [(7, 200), (8, 200), (9, 413)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_route_has_its_own_limit(size: int, status: int, chunked: bool) -> None:
    body = b"x" * size
    content = iter([body[:5], body[5:]]) if chunked else body
    answer = TestClient(application()).put(
        "/v1/small", content=content, headers=signed_headers("PUT", "/v1/small", body)
    )
    assert answer.status_code == status


def test_too_large_comes_before_authentication() -> None:
    answer = TestClient(application()).put("/v1/small", content=b"x" * 9)
    assert answer.status_code == 413
    assert answer.json()["type"] == "urn:fgpr:problem:too-large"
    assert answer.json()["limit"] == 8


@pytest.mark.parametrize("declared", ["9" * 30, "9" * 5000])
def test_an_absurd_content_length_is_refused_unread(declared: str) -> None:
    answer = TestClient(application()).put("/v1/small", content=b"x", headers={"Content-Length": declared})
    assert answer.status_code == 413


@pytest.mark.slow
def test_limits_over_a_socket() -> None:
    limit = request_bodies.BODY_LIMIT

    def chunks(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield bytes(2**16)

    with serving(application()) as origin, httpx.Client(base_url=origin) as client:
        assert client.put("/v1/unsigned", content=bytes(limit)).text == str(limit)
        assert client.put("/v1/unsigned", content=chunks(16)).text == str(limit)
        for content in (bytes(2 * limit), chunks(32)):
            answer = client.put("/v1/unsigned", content=content)
            assert (answer.status_code, answer.json()["limit"]) == (413, limit)
        # The server is well, and one byte above the limit is above it.
        assert client.put("/v1/unsigned", content=bytes(limit + 1)).status_code == 413
        assert client.put("/v1/unsigned", content=b"x").text == "1"
