"""Everything that OpenAPI describes, with what fits it and what does not, signed and unsigned.

`make fuzz` runs the long form and counts: FGPR_FUZZ_EXAMPLES is the number of requests for each operation and way.
"""

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, Phase, given, settings
from requests.auth import AuthBase
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from aggregator import main
from aggregator.service import restoring
from aggregator.service.inspection import verify_database
from fuzz.signing import Signing
from support.aggregator import Aggregator, served
from support.client import NAME
from support.postgres import Postgres
from support.staff import Staff

EXAMPLES = int(os.environ.get("FGPR_FUZZ_EXAMPLES", "3"))
COUNTS = os.environ.get("FGPR_FUZZ_COUNTS")
"""A folder for a file from each run: its operation and way, and how many requests got which status."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
CLIENT, OPERATOR = "client-00", "olga"
SIGNED = [{"signature": []}]

DOCUMENT: dict[str, Any] = main.create_interface("http://127.0.0.1").openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [
    (path, method, mode)
    for path, item in DOCUMENT["paths"].items()
    for method, described in item.items()
    # What takes nothing takes nothing wrong.
    for mode in (GenerationMode if {"parameters", "requestBody"} & set(described) else [GenerationMode.POSITIVE])
]


OPERATED = [operation for operation in OPERATIONS if operation[0].startswith("/v1/operator/")]
RUNS = {
    *((path, method, mode.value, way) for path, method, mode in OPERATIONS for way in ("signed", "unsigned")),
    *((path, method, mode.value, OPERATOR) for path, method, mode in OPERATED),
}
"""All that has to be fuzzed: path, method, what fits or what does not, and who signs."""
OWN_KEY = ("/v1/enrolments", "/v1/operator/enrolments")
"""Requests signed with the key that they enrol, so that the body is read first: any other key is as good as none."""


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """One in an open round, with a published one before."""
    with served(tmp_path_factory.mktemp("fuzz"), keeps_deadlines=False, waiters=1) as made:
        parties = made.enrol(4)
        made.advance()
        for act in ("contribute", "open"):
            for party in parties:
                getattr(party, act)()
        made.advance()
        yield made


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory, postgresql: Postgres) -> Iterator[tuple[Aggregator, Staff]]:
    """One with an operator, who may do everything to it; on PostgreSQL, which refuses what SQLite takes."""
    folder = tmp_path_factory.mktemp("operated")
    with postgresql.database() as url, served(folder, url=url, keeps_deadlines=False, waiters=1) as made:
        person = Staff(made, OPERATOR, "operator")
        person.enrol()
        made.enrol(4)
        yield made, person


@pytest.mark.slow
@pytest.mark.parametrize("way", ["signed", "unsigned"])
@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS, ids=lambda part: getattr(part, "value", part))
def test_an_operation(aggregator: Aggregator, path: str, method: str, way: str, mode: GenerationMode) -> None:
    described = DOCUMENT["paths"][path][method]
    auth: AuthBase | None = None
    if way == "signed":
        auth = signing(aggregator, aggregator.parties[CLIENT].client.identity_key)
    before = aggregator.dump()
    fuzz(aggregator, path, method, mode, auth, way, refused=way == "unsigned" and described["security"] == SIGNED)
    assert aggregator.dump() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "method", "mode"),
    OPERATED,
    ids=lambda part: getattr(part, "value", part),
)
def test_an_operation_by_an_operator(
    operated: tuple[Aggregator, Staff], path: str, method: str, mode: GenerationMode
) -> None:
    """Here much of what is sent has its effect: tickets, rounds, pauses."""
    aggregator, person = operated
    # More than a day between two operations, so that no quota is what answers.
    aggregator.clock.forward(90_000)
    fuzz(aggregator, path, method, mode, signing(aggregator, person.key), OPERATOR, refused=False)
    assert [line.name for line in person.federations().federations][:1] == [NAME]
    verify_database(aggregator.context.database, aggregator.anchors())


def signing(aggregator: Aggregator, key: Ed25519PrivateKey) -> AuthBase:
    return Signing(key, aggregator.clock, restoring.epoch(aggregator.context))


def fuzz(
    aggregator: Aggregator,
    path: str,
    method: str,
    mode: GenerationMode,
    auth: AuthBase | None,
    way: str,
    *,
    refused: bool,
) -> None:
    """Send EXAMPLES requests, and as many with names that exist."""
    described = DOCUMENT["paths"][path][method]
    # Names that exist lead deeper than any that a fuzzer finds; but whoever leaves can ask no more.
    named: dict[str, Any] = {"federation": NAME, "client": CLIENT, "name": OPERATOR} if method != "delete" else {}
    known = {one["name"] for one in described.get("parameters", []) if one["in"] == "path"}
    paths = [{}, {name: value for name, value in named.items() if name in known}]
    statuses: Counter[int] = Counter()
    attacks: list[Callable[[], None]] = []
    operation = SCHEMA[path][method.upper()]
    for fixed in paths if paths[1] else paths[:1]:
        strategy = operation.as_strategy(generation_mode=mode, path_parameters=fixed)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def attack(case: schemathesis.Case) -> None:
            with requests.Session() as session:
                response = case.call(base_url=aggregator.settings.origin, session=session, auth=auth, timeout=60)
            statuses[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)
            if refused:
                assert response.status_code >= 400

        attacks.append(attack)
    try:
        for one in attacks:
            one()
    finally:
        if COUNTS:
            told = {"run": [path, method, mode.value, way], "refused": refused, "statuses": statuses}
            Path(COUNTS, f"{secrets.token_hex(8)}.json").write_text(json.dumps(told), encoding="utf-8")
    if mode is GenerationMode.POSITIVE and described["security"] == SIGNED and path not in OWN_KEY:
        # Whatever else is wrong with it, what is not signed is refused for that; and what is signed is not, or this
        # would be the same test twice.
        if refused:
            assert statuses[401], statuses
        else:
            assert statuses.total() > statuses[401]
