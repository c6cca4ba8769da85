from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from aggregator.auth import verify_request
from client_agent import identity, membership, signed_request
from client_agent.membership import Membership
from fgpr import signatures
from fgpr.errors import DataError, LocalProtocolError, Unauthenticated

ORIGIN = "https://fgpr.example/prefix"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of an enrolled party."""
    home = tmp_path / "home"
    identity.create(home)
    known = Membership(
        origin=ORIGIN,
        federation="turbofan",
        client="engine-1",
        role="client",
        service_key=bytes(32),
        roster_key=bytes(32),
    )
    membership.save(home, known)
    return home


def verify(home: Path, lines: list[str], method: str, path: str, query: str, body: bytes) -> str:
    """The key id for which an aggregator takes a request with these fields."""
    public = signatures.public_bytes(identity.load(home))
    headers = httpx.Headers([tuple(line.split(": ", 1)) for line in lines])
    caller = verify_request(
        method, path, query, headers, body, origin=ORIGIN, find_key=lambda _: public, now=datetime.now(UTC)
    )
    return caller.key_id


def test_an_aggregator_takes_what_is_sent_with_these_fields(home: Path) -> None:
    path, query = "/v1/federations/turbofan/rounds", "before=3&limit=2"
    lines = signed_request.lines(home, "GET", f"{path}?{query}")
    assert [line.partition(":")[0] for line in lines] == ["Signature-Input", "Signature"]
    assert verify(home, lines, "GET", path, query, b"") == signatures.key_id(
        signatures.public_bytes(identity.load(home))
    )
    for other in (("HEAD", path, query), ("GET", f"{path}/current", query), ("GET", path, "before=4&limit=2")):
        with pytest.raises(Unauthenticated):
            verify(home, lines, *other, b"")


def test_a_body_is_covered(home: Path) -> None:
    body = b'{"a": 1}\n'
    lines = signed_request.lines(home, "PUT", "/v1/x", body)
    assert [line.partition(":")[0] for line in lines] == [
        "Content-Type",
        "Content-Digest",
        "Signature-Input",
        "Signature",
    ]
    verify(home, lines, "PUT", "/v1/x", "", body)
    with pytest.raises(Unauthenticated):
        verify(home, lines, "PUT", "/v1/x", "", body.strip())


def test_each_call_has_a_nonce_of_its_own(home: Path) -> None:
    assert signed_request.lines(home, "GET", "/v1/x") != signed_request.lines(home, "GET", "/v1/x")


@pytest.mark.parametrize("path", ["/v1/a b", "/v1/ü", "/v1/../x", "/v1/x?a=b c", "/v1/x?ü", "/v1/x#part", "/v1/%zz"])
def test_paths_that_others_would_send_differently(home: Path, path: str) -> None:
    with pytest.raises(LocalProtocolError, match="percent-encoded"):
        signed_request.lines(home, "GET", path)


@pytest.mark.parametrize("method", ["get", "PATCH", "", "G E T"])
def test_methods(home: Path, method: str) -> None:
    with pytest.raises(DataError, match="GET, HEAD"):
        signed_request.lines(home, method, "/v1/x")


def test_a_home_that_is_enrolled_nowhere(tmp_path: Path) -> None:
    with pytest.raises(LocalProtocolError, match="enrolled nowhere"):
        signed_request.lines(tmp_path, "GET", "/v1/x")
