"""Everything that OpenAPI describes, with what fits it and what does not, signed and unsigned.

`make fuzz` runs the long form: FGPR_FUZZ_EXAMPLES is the number of requests for each operation and way.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
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
from fuzz.signing import Signing
from support.aggregator import Aggregator, served
from support.client import NAME

EXAMPLES = int(os.environ.get("FGPR_FUZZ_EXAMPLES", "3"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
CLIENT = "client-00"

DOCUMENT: dict[str, Any] = main.create_interface("http://127.0.0.1").openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [
    (path, method, mode)
    for path, item in DOCUMENT["paths"].items()
    for method, described in item.items()
    # What takes nothing takes nothing wrong.
    for mode in (GenerationMode if {"parameters", "requestBody"} & set(described) else [GenerationMode.POSITIVE])
]


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


@pytest.mark.slow
@pytest.mark.parametrize("way", ["signed", "unsigned"])
@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS, ids=lambda part: getattr(part, "value", part))
def test_an_operation(aggregator: Aggregator, path: str, method: str, way: str, mode: GenerationMode) -> None:
    described = DOCUMENT["paths"][path][method]
    auth: AuthBase | None = None
    if way == "signed":
        auth = Signing(aggregator.parties[CLIENT].client.identity_key, aggregator.clock)
    # Names that exist lead deeper than any that a fuzzer finds; but whoever leaves can ask no more.
    named: dict[str, Any] = {"federation": NAME, "client": CLIENT} if method != "delete" else {}
    known = {one["name"] for one in described.get("parameters", []) if one["in"] == "path"}
    paths = [{}, {name: value for name, value in named.items() if name in known}]
    before = aggregator.dump()
    sent = 0
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
            nonlocal sent
            sent += 1
            with requests.Session() as session:
                response = case.call(base_url=aggregator.settings.origin, session=session, auth=auth, timeout=60)
            case.validate_response(response, checks=CHECKS)
            if described["security"] and way == "unsigned":
                assert response.status_code >= 400

        attack()
    assert sent > 0
    assert aggregator.dump() == before
