"""Threat 16: every route that takes a body, and every parameter, with what it does not take. Nothing is stored."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from aggregator import main
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party
from support.staff import Staff

DOCUMENT = main.create_interface("http://127.0.0.1").openapi()
GOOD = {"federation": NAME, "number": "1", "version": "0", "client": "client-00", "name": "olga"}
OPERATOR = "/v1/operator/"
QUERY = {"start": "0", "end": "1", "index": "0", "size": "1", "old": "0", "new": "0"}

Json = dict[str, Any]


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """One in an open round."""
    with served(tmp_path_factory.mktemp("bad"), keeps_deadlines=False) as made:
        made.enrol(4)
        made.advance()
        yield made


@dataclass(frozen=True)
class Senders:
    """A client, and an operator for what only an operator may."""

    party: Party
    person: Staff

    def of(self, target: str) -> Party | Staff:
        return self.person if target.startswith(OPERATOR) else self.party


@pytest.fixture(scope="module")
def senders(aggregator: Aggregator) -> Senders:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    return Senders(aggregator.parties["client-00"], person)


def filled(path: str, **names: str) -> str:
    """A path with names that exist; an operator's bodies go to a federation that does not: good ones would act."""
    return path.format(**GOOD | ({"federation": "nowhere"} if path.startswith(OPERATOR) else {}) | names)


def send(senders: Senders, method: str, target: str, body: bytes | None = None) -> httpx.Response:
    """A signed request."""
    party = senders.of(target)
    headers = {} if body is None else {"Content-Type": "application/json"}
    request = httpx.Request(method, party.ticket.origin + target, content=body, headers=headers)
    next(party.api._signature.auth_flow(request))
    response = party.transport.inner.handle_request(request)
    response.read()
    return response


def check_refused(response: httpx.Response, statuses: tuple[int, ...] = (422,)) -> None:
    assert response.status_code in statuses, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == response.status_code


WITH_BODY = [
    (method.upper(), path, operation["requestBody"]["content"]["application/json"]["example"])
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if "requestBody" in operation
]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Places of the plain values in a JSON value."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def with_literal(example: Json, literal: bytes) -> bytes:
    """The example with what no JSON library writes in the place of one of its plain values."""
    first = next(leaves(example))
    return json.dumps(changed(example, first, "LITERAL")).encode().replace(b'"LITERAL"', literal)


BODIES: dict[str, Callable[[Json], bytes]] = {
    "NaN": lambda example: with_literal(example, b"NaN"),
    "Infinity": lambda example: with_literal(example, b"Infinity"),
    "minus Infinity": lambda example: with_literal(example, b"-Infinity"),
    "beyond floats": lambda example: with_literal(example, b"1e999"),
    "a huge integer": lambda example: with_literal(example, b"9" * 5000),
    "2^53": lambda example: with_literal(example, b"9007199254740992"),
    "not UTF-8": lambda example: with_literal(example, b'"\xff\xfe"'),
    "an overlong encoding": lambda example: with_literal(example, b'"\xc0\xaf"'),
    "half a surrogate pair": lambda example: with_literal(example, b'"\\ud800"'),
    "a null byte": lambda example: with_literal(example, b'"\\u0000"'),
    "a raw control character": lambda example: with_literal(example, b'"\x01"'),
    "a byte order mark": lambda example: b"\xef\xbb\xbf" + json.dumps(example).encode(),
    "UTF-16": lambda example: json.dumps(example).encode("utf-16"),
    "deep nesting": lambda example: with_literal(example, b"[" * 100 + b"]" * 100),
    "very deep nesting": lambda example: with_literal(example, b"[" * 100_000 + b"]" * 100_000),
    "an unclosed nesting": lambda example: with_literal(example, b"[" * 100_000),
    "unknown field": lambda example: json.dumps(example | {"another": 1}).encode(),
    "no field": lambda _: b"{}",
    "repeated key": lambda example: json.dumps(example).encode()[:-1] + b"," + key_again(example) + b"}",
    "cut short": lambda example: json.dumps(example).encode()[:-1],
    "followed by more": lambda example: json.dumps(example).encode() + b"{}",
    "an array of it": lambda example: json.dumps([example]).encode(),
    "text of it": lambda example: json.dumps(json.dumps(example)).encode(),
    "null": lambda _: b"null",
    "space": lambda _: b" \n",
    "a comment": lambda example: b"/**/" + json.dumps(example).encode(),
}


def key_again(example: Json) -> bytes:
    key = next(iter(example))
    return f"{json.dumps(key)}: {json.dumps(example[key])}".encode()


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize(("method", "path", "example"), WITH_BODY, ids=[path for _, path, _ in WITH_BODY])
def test_bodies(
    aggregator: Aggregator, senders: Senders, method: str, path: str, example: Json, make: Callable[[Json], bytes]
) -> None:
    before = aggregator.dump()
    check_refused(send(senders, method, filled(path), make(example)))
    assert aggregator.dump() == before


@pytest.mark.parametrize(("method", "path", "example"), WITH_BODY, ids=[path for _, path, _ in WITH_BODY])
def test_each_field_of_another_type_or_length(
    aggregator: Aggregator, senders: Senders, method: str, path: str, example: Json
) -> None:
    before = aggregator.dump()
    for place in leaves(example):
        present = example
        for key in place:
            present = present[key]
        wrong: list[Any] = [None, [], {}, [present], {"a": present}, 1.5, -1, True]
        wrong += ["", "=", "é" * 44, "A" * 43, "A" * 100_000] if isinstance(present, str) else ["1", "x", 2**53, 0.0]
        for value in wrong:
            # Some are of the right form, such as an empty masked vector: they are refused for what they say.
            body = json.dumps(changed(example, place, value)).encode()
            check_refused(send(senders, method, filled(path), body), (401, 403, 404, 409, 410, 422))
    assert aggregator.dump() == before


@pytest.mark.parametrize(("method", "path", "example"), WITH_BODY, ids=[path for _, path, _ in WITH_BODY])
def test_the_example_has_the_right_form(
    aggregator: Aggregator, senders: Senders, method: str, path: str, example: Json
) -> None:
    """Otherwise the rest of this file would show nothing: what is wrong with it comes after its form."""
    before = aggregator.dump()
    answer = send(senders, method, filled(path), json.dumps(example).encode())
    assert 400 <= answer.status_code < 500
    assert "Input should" not in answer.json()["detail"]
    assert "not JSON" not in answer.json()["detail"]
    assert aggregator.dump() == before


@pytest.mark.parametrize(("method", "path", "example"), WITH_BODY, ids=[path for _, path, _ in WITH_BODY])
def test_an_empty_body(aggregator: Aggregator, senders: Senders, method: str, path: str, example: Json) -> None:
    assert example
    before = aggregator.dump()
    check_refused(send(senders, method, filled(path), b""), (415, 422))
    check_refused(send(senders, method, filled(path)), (415,))
    assert aggregator.dump() == before


PARAMETERS = [
    (method.upper(), path, parameter)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    for parameter in operation.get("parameters", [])
    if parameter["in"] in ("path", "query")
]

ANY = [b"\xff\xfe", b"\x00", b"\n", b"\xed\xa0\x80", b"'; DROP TABLE rounds; --", b"x" * 5000]
NUMBERS = [
    b"-1",
    b"1.5",
    b"1e3",
    b"NaN",
    b"Infinity",
    b"0x1",
    b"",
    b" ",
    "\u0661".encode(),
    b"9" * 5000,
    b"%",
    b"true",
    b"[]",
]
NAMES = [b"UPPER", b"a b", b"..", b"a.b", "é".encode(), b"a\n", b"%2e%2e", b"x" * 65]


@pytest.mark.parametrize(
    ("method", "path", "parameter"), PARAMETERS, ids=[f"{m} {p} {one['name']}" for m, p, one in PARAMETERS]
)
def test_parameters(aggregator: Aggregator, senders: Senders, method: str, path: str, parameter: Json) -> None:
    before = aggregator.dump()
    name, where = parameter["name"], parameter["in"]
    types = {one.get("type") for one in [parameter["schema"], *parameter["schema"].get("anyOf", [])]}
    values = ANY + (NUMBERS if "integer" in types else NAMES if where == "path" else [])
    if name == "seen":
        # Any text of 512 characters may be a token; a wrong one only finds that all is new.
        values = [b"x" * 513]
    for value in values:
        text = quote(value, safe="")
        if where == "path" and text in ("", "."):
            continue
        found = filled(path, **({name: text} if where == "path" else {}))
        asked = {one["name"] for _, other, one in PARAMETERS if other == path and one["in"] == "query"}
        query = {one: QUERY[one] for one in asked & set(QUERY)}
        parts = [f"{one}={quote(given)}" for one, given in query.items() if one != name]
        if where == "query":
            parts.append(f"{name}={text}")
        target = found + ("?" + "&".join(parts) if parts else "")
        body = b"{}" if method in ("PUT", "POST") else None
        # A value with a slash in it, and one that is no segment, lead to no route.
        check_refused(send(senders, method, target, body), (404, 405, 422))
    assert aggregator.dump() == before


def test_limits_of_whole_numbers(senders: Senders) -> None:
    for target in (
        f"/v1/federations/{NAME}/priors/{2**31}",
        f"/v1/federations/{NAME}/rosters/{2**31}",
        f"/v1/federations/{NAME}/rounds/{2**31}/cohort",
        f"/v1/federations/{NAME}/rounds?before={2**31}",
        f"/v1/federations/{NAME}/rounds?limit=101",
        f"/v1/federations/{NAME}/rounds/current?wait=31",
        f"/v1/log/entries?start=0&end={2**53 + 1}",
    ):
        check_refused(send(senders, "GET", target))
    for target in (f"/v1/federations/{NAME}/priors/{2**31 - 1}", f"/v1/log/entries?start={2**53}&end={2**53}"):
        check_refused(send(senders, "GET", target), (404,))


def test_the_table_covers_every_body_and_parameter() -> None:
    assert len(WITH_BODY) == 10
    assert {one["name"] for *_, one in PARAMETERS} >= set(GOOD) | set(QUERY) | {"seen", "wait", "before", "limit"}
