"""The OpenAPI document."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aggregator import main
from aggregator.cli import app
from aggregator.routes.examples import examples
from aggregator.settings import Settings
from fgpr.message import Message

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = main.create_interface("http://127.0.0.1:8000").openapi()
OPERATIONS = [
    (path, method, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]
IDS = [f"{method} {path}" for path, method, _ in OPERATIONS]


def test_the_committed_document_is_that_of_the_code() -> None:
    printed = CliRunner().invoke(app, ["openapi", "--origin", "http://127.0.0.1:8000"])
    assert printed.exit_code == 0
    assert printed.stdout == (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert json.loads(printed.stdout) == DOCUMENT


def test_it_names_its_own_address() -> None:
    other = main.create_interface("https://example.org/fgpr").openapi()
    assert (other["openapi"], other["servers"]) == ("3.1.0", [{"url": "https://example.org/fgpr"}])
    assert {**other, "servers": []} == {**DOCUMENT, "servers": []}


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(inner) for inner in value.values()))
    return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    names = {reference.removeprefix("#/components/schemas/") for reference in references(DOCUMENT)}
    assert names == set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=IDS)
def test_an_operation_tells_its_answers_and_its_refusals(path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert method != "head"
    answers = operation["responses"]
    assert [status for status in answers if status.startswith("2")]
    for status, answer in answers.items():
        assert answer["description"]
        assert "X-Request-Id" in answer["headers"]
        if int(status) >= 400:
            assert set(answer["content"]) == {"application/problem+json"}
    if path.startswith("/v1/"):
        assert {"422", "429", "500", "503"} <= set(answers)
    if operation["security"]:
        assert operation["security"] in ([{"signature": []}], [{}, {"signature": []}])
        assert {"401", "403"} <= set(answers)
    if method in ("put", "post") and operation["operationId"] != "open_round":
        assert {"408", "413", "415"} <= set(answers)
        content = operation["requestBody"]["content"]["application/json"]
        assert content["schema"]["$ref"]
        assert content["example"]


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for *_, operation in OPERATIONS]
    assert len(set(names)) == len(names)


def test_the_scheme_says_what_is_signed() -> None:
    text = DOCUMENT["components"]["securitySchemes"]["signature"]["description"]
    for part in ("@method", "@authority", "@path", "@query", "content-digest", "nonce", "fgpr-v1", "RFC 9421"):
        assert part in text


@pytest.mark.parametrize("example", examples(), ids=lambda one: type(one).__name__)
def test_examples_have_the_form_of_their_class(example: Message) -> None:
    assert type(example).decode(example.encode()) == example


def schemas(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(inner for each in value.values() for inner in schemas(each))]
    return [inner for each in value for inner in schemas(each)] if isinstance(value, list) else []


def test_schemas_are_those_of_json_schema() -> None:
    found = schemas(DOCUMENT["components"]["schemas"])
    for pattern in {one["pattern"] for one in found if isinstance(one.get("pattern"), str)}:
        # What ECMA-262 does not know, and Python knows otherwise.
        assert not re.search(r"\\[AZz]", pattern)
        re.compile(pattern)
    digest = DOCUMENT["components"]["schemas"]["Receipt"]["properties"]["body"]
    assert (digest["contentEncoding"], digest["minLength"], digest["maxLength"]) == ("base64", 44, 44)
    assert not [one for one in found if one.get("format") == "binary"]


def test_each_setting_is_explained() -> None:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    named = set(re.findall(r"FGPR_([A-Z_]+)", text)) | {
        flag.replace("-", "_").upper() for flag in re.findall(r"`--([a-z-]+)`", text)
    }
    assert {name.upper() for name in Settings.model_fields} - {"TICK_SECONDS"} <= named
    defaults = dict(re.findall(r"^\| `FGPR_([A-Z_]+)` \| ([0-9,]+) \|", text, re.MULTILINE))
    for name, value in defaults.items():
        assert Settings.model_fields[name.lower()].default == int(value.replace(",", "")), name
    assert len(defaults) >= 8
