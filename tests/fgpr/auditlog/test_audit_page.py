"""docs/audit-trail.md describes the leaves as they are: each kind, each field, in order."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from fgpr.auditlog import entries
from fgpr.auditlog.entries import AnsweredOpening, Leaf

PAGE = (Path(__file__).parents[3] / "docs" / "audit-trail.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `([\w-]+)`\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
CLASSES: dict[str, Any] = {leaf.model_fields["kind"].default: leaf for leaf in get_args(Leaf)}


def fields(section: str) -> list[tuple[str, str, str]]:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\|$", section, re.MULTILINE)
    return [(name, kind, meaning) for name, kind, meaning in rows]


def test_every_kind_has_its_section_and_no_other() -> None:
    assert list(SECTIONS) == list(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_field_is_described_in_order(kind: str) -> None:
    described = fields(SECTIONS[kind])
    assert [name for name, _, _ in described] == list(CLASSES[kind].model_fields)
    for name, told, meaning in described:
        assert meaning or name in ("kind", "federation", "client", "role", "round", "state", "by", "reason"), name
        assert _of_type(CLASSES[kind], name) in told, (name, told)
    assert f'"{kind}"' in described[0][1]


def _of_type(leaf: Any, name: str) -> str:
    """What the page calls a field's type, at least."""
    schema = leaf.model_json_schema()
    one = schema["properties"][name]
    options = one.get("anyOf", [one])
    words = {"string": "", "integer": "whole number", "null": "null", "array": "list", "object": "object"}
    first = options[0]
    if "$ref" in first:
        title = str(schema["$defs"][first["$ref"].rsplit("/", 1)[1]]["title"])
        return title if title.startswith("Signed") else "object"
    if first.get("contentEncoding") == "base64" and first.get("minLength") == 44:
        return "32 bytes"
    return words[first["type"]] if "type" in first else ""


def test_parts_of_leaves_are_described() -> None:
    assert ", ".join(AnsweredOpening.model_fields) in SECTIONS["prior"]
    assert f"`{{{', '.join(AnsweredOpening.model_fields)}}}`" in SECTIONS["void"]


def test_the_page_of_the_protocol_has_every_kind_too() -> None:
    page = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.partition("## Leaves of the audit log")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(CLASSES)
    assert entries.__doc__ is not None
    assert "docs/audit-trail.md" in entries.__doc__
