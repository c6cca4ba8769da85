"""What the documents say about the tree and the interface is so."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import operator
from aggregator.settings import Settings
from aggregator.storage import migrate

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docker/*.md")])

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_TEST = re.compile(r"`([\w/]+/test_\w+\.py)::(\w+)`")
_REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.(com|org)|crates\.io|anaconda\.org|--(extra-)?index-url|-i https?:"
)


def prose(path: Path) -> str:
    """A document without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    # A link may be broken over two lines.
    links = [link for link in _LINK.findall(prose(document).replace("\n", " ")) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name(document)} links to {link}"
        assert target.is_relative_to(ROOT)
        assert not anchor or anchor in anchors(target), f"{name(document)} links to {link}"


def test_links_are_found() -> None:
    assert len(_LINK.findall(prose(ROOT / "README.md"))) > 5


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_no_document_names_a_package_registry(document: Path) -> None:
    assert _REGISTRY.search(document.read_text(encoding="utf-8")) is None


def attacks() -> dict[str, str]:
    """Number and last cell of each row of the threat model's table."""
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    _, _, table = text.partition("## Attacks and counters")
    return {
        row: line.split("|")[-1].strip() for row, line in re.findall(r"^\| (\d+[a-z]?) (.*) \|$", table, re.MULTILINE)
    }


@pytest.mark.parametrize(("number", "shown"), list(attacks().items()), ids=list(attacks()))
def test_each_attack_is_shown_by_tests_that_exist_or_planned(number: str, shown: str) -> None:
    named = _TEST.findall(shown)
    assert named or "planned" in shown, f"row {number}"
    # Nothing that looks like a test escapes the search.
    assert shown.count(".py") == len(named), f"row {number}"
    for path, test in named:
        assert (TESTS / path).is_file(), f"row {number}: there is no {path}"
        source = (TESTS / path).read_text(encoding="utf-8")
        assert f"\ndef {test}(" in source, f"row {number}: {path} has no {test}"


def test_the_threat_model_has_its_rows() -> None:
    assert [number for number in attacks() if number.isdecimal()] == [str(number) for number in range(1, 25)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    folder = tmp_path_factory.mktemp("aggregator")
    settings = Settings(database=f"sqlite:///{folder / 'fgpr.db'}", keys=folder / "keys")
    KeyDirectory(settings.keys).ensure_service()
    context = main.create_context(settings)
    migrate.upgrade(context.database)
    operator.start_log(context)
    yield main.create_app(settings, context)
    context.database.close()


def documented() -> dict[tuple[str, str], str]:
    """Method and path of each route in the walkthrough's table, with its column "signed"."""
    text = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    _, _, table = text.partition("## By REST")
    rows = re.findall(r"^\| (GET|PUT|POST|DELETE|PATCH) \| `([^`]+)` \| ([^|]+) \|", table, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| [A-Z]+ \|", table, re.MULTILINE))
    return {(method, "/v1" + _nameless(path.partition("?")[0])): signed for method, path, signed in rows}


def versioned(app: FastAPI) -> dict[str, dict[str, dict[str, list[dict[str, str]]]]]:
    """The routes below /v1; the others are for whoever runs the process."""
    return {path: item for path, item in app.openapi()["paths"].items() if path.startswith("/v1/")}


def _nameless(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def test_the_walkthrough_lists_exactly_the_routes(app: FastAPI) -> None:
    served = {(method.upper(), _nameless(path)) for path, item in versioned(app).items() for method in item}
    assert set(documented()) == served


def test_the_walkthrough_lists_exactly_the_query_parameters(app: FastAPI) -> None:
    text = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    listed = {
        _nameless("/v1" + path): set(re.findall(r"(\w+)=", query))
        for path, query in re.findall(r"^\| GET \| `([^`?]+)\??([^`]*)` \|", text, re.MULTILINE)
    }
    served = {
        _nameless(path): {one["name"] for one in item["get"].get("parameters", []) if one["in"] == "query"}
        for path, item in versioned(app).items()
        if "get" in item
    }
    assert listed == served


def test_the_walkthrough_says_which_routes_are_signed(app: FastAPI) -> None:
    client = TestClient(app)
    for (method, path), signed in documented().items():
        filled = path.replace("/federations/{}", "/federations/turbofan").replace("{}", "1")
        filled += "?start=0&end=1&index=0&size=1&old=0&new=0" if "/log/" in path else ""
        answer = client.request(method, filled, headers={"Content-Type": "application/json"})
        assert (answer.status_code == 401) == (signed == "yes"), f"{method} {path}: {answer.status_code}"
