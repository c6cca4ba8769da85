"""Every route of the application with every role, held against the table of docs/roles.md."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import enrolment, federations, staff
from client_agent.api import Api
from fgpr.errors import FgprError
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.party import Party, Recorded
from support.staff import Staff

PAGE = Path(__file__).parents[3] / "docs" / "roles.md"
ROLES = ("unsigned", "client", "reader", "other", "auditor", "operator", "revoked", "replaced")
QUERIES = {
    "/log/entries": {"start": 0, "end": 1},
    "/log/inclusion": {"index": 0, "size": 1},
    "/log/consistency": {"old": 0, "new": 1},
}

Row = tuple[str, str]


def table() -> dict[Row, dict[str, int]]:
    """Status by method and path, and by role."""
    text = PAGE.read_text(encoding="utf-8")
    assert f"| | route | {' | '.join(ROLES)} |" in text
    rows = re.findall(r"^\| ([A-Z]+) \| `([^`]+)` \| (.*) \|$", text, re.MULTILINE)
    found = {(method, path): [int(cell) for cell in cells.split(" | ")] for method, path, cells in rows}
    assert len(found) == len(rows)
    return {row: dict(zip(ROLES, cells, strict=True)) for row, cells in found.items()}


@dataclass
class Scene:
    """An aggregator in the first stage of round 1, and one key of each role."""

    aggregator: Aggregator
    keys: dict[str, tuple[str, Ed25519PrivateKey]]

    def send(self, role: str, method: str, path: str) -> int:
        """Send a request as this role; its status."""
        name, key = self.keys[role]
        signed_by_nobody = role == "unsigned"
        party = "client-03" if path.startswith("/operator/fed") else name
        filled = path.replace("{f}", NAME).replace("{r}", "1").replace("{version}", "1" if "rosters" in path else "0")
        filled = "/v1" + filled.replace("{client}", party).replace("{name}", name)
        body = b"{}" if method in ("PUT", "POST") and not path.endswith("/{f}/rounds") else b""
        params = QUERIES.get(path)
        if signed_by_nobody:
            headers = {"Content-Type": "application/json"} if body else None
            origin = self.aggregator.settings.origin
            # Plain HTTP: loading the certificates of the world takes longer than the answer.
            with httpx.Client(base_url=origin, verify=False) as client:  # noqa: S501  # there is no TLS
                return client.request(method, filled, content=body, headers=headers, params=params).status_code
        transport = Recorded()
        send: dict[str, Callable[[Api], bytes]] = {
            "GET": lambda api: api.get(filled, params),
            "PUT": lambda api: api.put(filled, body),
            "POST": lambda api: api.post(filled, body),
            "DELETE": lambda api: api.delete(filled),
        }
        with Api(
            self.aggregator.settings.origin, NAME, key, transport=transport, clock=self.aggregator.clock, attempts=1
        ) as api:
            try:
                send[method](api)
            except FgprError:
                assert transport.answers[-1][0] >= 400
        return transport.answers[-1][0]


@pytest.fixture
def scene(tmp_path: Path, database_url: str) -> Iterator[Scene]:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as made:
        yield prepare(made)


def prepare(made: Aggregator) -> Scene:
    parties = made.enrol(6)
    made.party("reader", "reader").enrol()
    key = made.context.keys.ensure_roster("another")
    federations.create(made.context, settings_of("another"), key)
    ticket = enrolment.invite(made.context, "another", "stranger", "client")
    other = Party(ticket, Recorded(), made.clock, made.context.random_bytes)
    made.parties["stranger"] = other
    other.enrol()
    people = {role: Staff(made, f"the-{role}", role) for role in ("auditor", "operator")}
    for person in people.values():
        person.enrol()
    made.advance()
    enrolment.revoke(made.context, NAME, "client-04")
    replaced = parties[5].client.identity_key
    parties[5].rotate()
    keys = {
        "unsigned": ("client-00", replaced),
        "client": ("client-00", parties[0].client.identity_key),
        "reader": ("reader", made.parties["reader"].client.identity_key),
        "other": ("stranger", other.client.identity_key),
        "auditor": ("the-auditor", people["auditor"].key),
        "operator": ("the-operator", people["operator"].key),
        "revoked": ("client-04", parties[4].client.identity_key),
        "replaced": ("client-05", replaced),
    }
    return Scene(made, keys)


def routes(aggregator: Aggregator) -> set[Row]:
    """Every route that the application serves."""
    paths = aggregator.app.openapi()["paths"]
    versioned = {path: item for path, item in paths.items() if path.startswith("/v1/")}
    return {(method.upper(), nameless(path)) for path, item in versioned.items() for method in item}


def nameless(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path.removeprefix("/v1"))


def test_the_table_lists_exactly_the_routes(scene: Scene) -> None:
    assert {(method, nameless(path)) for method, path in table()} == routes(scene.aggregator)


def leaves(router: Any) -> Iterator[str]:
    """The path of each route, also of those in routers inside of it."""
    for route in router.routes:
        if getattr(route, "path", None) is not None:
            yield route.path
        else:
            yield from leaves(route.original_router)


def test_nothing_but_the_interface_is_served(scene: Scene) -> None:
    """Routes outside of the description, such as those of a framework, would escape the table."""
    described = {path.removeprefix("/v1") for path in scene.aggregator.app.openapi()["paths"]}
    assert set(leaves(scene.aggregator.app)) == described | {"/openapi.json"}
    others = [path for path in scene.aggregator.app.openapi()["paths"] if not path.startswith("/v1/")]
    assert others == ["/livez", "/readyz", "/metrics"]
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{path}`" in text for path in others)


def test_each_route_with_each_role(scene: Scene) -> None:
    # What takes a party or a person away comes last.
    rows = sorted(table().items(), key=lambda row: row[0][0] == "DELETE")
    wrong = []
    for (method, path), cells in rows:
        for role in sorted(ROLES, key=lambda role: cells[role] < 300):
            before = scene.aggregator.dump() if cells[role] >= 400 else None
            status = scene.send(role, method, path)
            if status != cells[role]:
                wrong.append(f"{method} {path} as {role}: {status}, the page says {cells[role]}")
            if before is not None:
                assert scene.aggregator.dump() == before, f"{method} {path} as {role} had an effect"
    assert wrong == []


def test_a_key_that_never_enrolled_is_nobody(scene: Scene) -> None:
    stranger = Scene(scene.aggregator, {"client": ("client-01", Ed25519PrivateKey.generate())})
    for (method, path), cells in table().items():
        if path.startswith("/log/") or "rosters" in path:
            # A signature that does not hold is refused even where none is needed.
            continue
        assert stranger.send("client", method, path) == cells["unsigned"], f"{method} {path}"


def test_a_revoked_operator_may_nothing(scene: Scene) -> None:
    person = Staff(scene.aggregator, "gone", "operator")
    person.enrol()
    staff.revoke(scene.aggregator.context, "gone")
    gone = Scene(scene.aggregator, {"operator": ("gone", person.key)})
    for method, path in table():
        if path.startswith("/operator/") and not path.endswith("/enrolments"):
            before = scene.aggregator.dump()
            assert gone.send("operator", method, path) == 403, f"{method} {path}"
            assert scene.aggregator.dump() == before
