"""What clients and caches may expect of any HTTP interface, over a real server."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fgpr.message import Signed
from fgpr.rest import LogEntries, RoundList, RoundView
from fgpr.secagg.roster import Roster
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party

FOR_EVER = "max-age=31536000, immutable"


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aggregator]:
    """After a published round and one that was aborted."""
    with served(tmp_path_factory.mktemp("http"), keeps_deadlines=False) as made:
        parties = made.enrol(4)
        made.advance()
        for act in ("contribute", "open"):
            for party in parties:
                getattr(party, act)()
        made.pass_contributing()
        yield made


@pytest.fixture
def party(aggregator: Aggregator) -> Party:
    return aggregator.parties["client-00"]


def send(party: Party, method: str, path: str, **headers: str) -> httpx.Response:
    """A signed request; names of headers with underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = httpx.Request(method, f"{party.ticket.origin}/v1{path}", headers=named)
    next(party.api._signature.auth_flow(request))
    response = party.transport.inner.handle_request(request)
    response.read()
    return response


@pytest.mark.parametrize(
    ("path", "cache"),
    [
        ("priors/latest", "private, no-cache"),
        ("priors/1", f"private, {FOR_EVER}"),
        ("rosters/1", f"public, {FOR_EVER}"),
    ],
)
def test_what_is_known_is_not_sent_again(party: Party, path: str, cache: str) -> None:
    path = f"/federations/{NAME}/{path}"
    whole = send(party, "GET", path)
    etag = whole.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{32}"', etag)
    assert whole.headers["cache-control"] == cache
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = send(party, "GET", path, If_None_Match=known)
        assert (answer.status_code, answer.content) == (304, b""), known
        assert (answer.headers["etag"], answer.headers["cache-control"]) == (etag, cache)
    for unknown in ('"other"', etag.strip('"'), "", "W/", '"*"'):
        answer = send(party, "GET", path, If_None_Match=unknown)
        assert (answer.status_code, answer.content) == (200, whole.content), unknown


def test_a_new_prior_has_a_new_tag(party: Party) -> None:
    tags = {send(party, "GET", f"/federations/{NAME}/priors/{version}").headers["etag"] for version in (0, 1)}
    assert len(tags) == 2


def test_who_may_not_read_learns_nothing_from_a_tag(party: Party) -> None:
    path = f"/federations/{NAME}/priors/latest"
    etag = send(party, "GET", path).headers["etag"]
    answer = httpx.get(f"{party.ticket.origin}/v1{path}", headers={"If-None-Match": etag})
    assert answer.status_code == 401
    assert "etag" not in answer.headers


PATHS = (
    f"/federations/{NAME}/priors/latest",
    f"/federations/{NAME}/priors/0",
    f"/federations/{NAME}/rosters/1",
    f"/federations/{NAME}/rounds",
    f"/federations/{NAME}/rounds/current",
    "/log/checkpoint",
    "/log/entries?start=0&end=3",
    "/log/inclusion?index=0&size=2",
    "/log/consistency?old=1&new=2",
)


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_its_body(party: Party, path: str) -> None:
    get, head = send(party, "GET", path), send(party, "HEAD", path)
    assert (head.status_code, head.content) == (get.status_code, b"") == (200, b"")
    of_the_body = ("content-type", "content-length", "etag", "cache-control", "link")
    assert {name: head.headers.get(name) for name in of_the_body} == {
        name: get.headers.get(name) for name in of_the_body
    }


def test_a_signature_of_get_does_not_serve_for_head(party: Party) -> None:
    party.prior()
    request = party.transport.requests[-1]
    assert party.transport.again(httpx.Request("HEAD", request.url, headers=request.headers)).status_code == 401


def test_each_route_says_which_methods_it_has(aggregator: Aggregator, party: Party) -> None:
    with httpx.Client(base_url=party.ticket.origin) as client:
        for path, item in aggregator.app.openapi()["paths"].items():
            served_methods = {method.upper() for method in item} | ({"HEAD"} if "get" in item else set())
            filled = re.sub(r"\{(\w+)\}", lambda name: "1" if name[1] in ("number", "version") else "x", path)
            for method in {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"} - served_methods:
                answer = client.request(method, filled)
                assert answer.status_code == 405, (method, path)
                assert {one.strip() for one in answer.headers["allow"].split(",")} == served_methods, (method, path)


def test_rounds_are_listed_page_by_page(aggregator: Aggregator, party: Party) -> None:
    path, seen = f"/federations/{NAME}/rounds?limit=1", []
    while True:
        answer = send(party, "GET", path)
        page = RoundList.decode(answer.content)
        seen += [one.round for one in page.rounds]
        if page.next is None:
            assert "link" not in answer.headers
            break
        link = re.fullmatch(r'<(.*)>; rel="next"', answer.headers["link"])
        assert link is not None
        path = link[1].removeprefix(f"{aggregator.settings.origin}/v1")
    assert seen == list(range(aggregator.last_round(), 0, -1))


def test_the_log_is_read_page_by_page(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggregator.service.audit.MOST_ENTRIES", 2)
    leaves, size = [], len(aggregator.raw_leaves())
    url: str | None = f"{aggregator.settings.origin}/v1/log/entries?start=0&end={size}"
    while url:
        answer = httpx.get(url)
        leaves += LogEntries.decode(answer.content).leaves
        url = answer.links.get("next", {}).get("url")
    assert leaves == aggregator.raw_leaves()
    # Nothing is promised beyond the end of the log, or the reader would ask for ever.
    beyond = httpx.get(f"{aggregator.settings.origin}/v1/log/entries?start={size}&end={size + 9}")
    assert "link" not in beyond.headers


def test_who_polls_is_told_how_often(party: Party) -> None:
    path = f"/federations/{NAME}/rounds/current"
    first = send(party, "GET", path)
    assert "retry-after" not in first.headers
    view = RoundView.decode(first.content)
    assert send(party, "GET", f"{path}?seen={view.state}").headers["retry-after"] == "2"


def test_times_are_utc_and_end_in_z(party: Party) -> None:
    """Case E8: an instant has one spelling, and the machine's own zone does not matter."""
    view = party.view()
    assert view.server_time == "2031-03-09T12:10:00.000Z"
    answer = send(party, "GET", f"/federations/{NAME}/rounds")
    for summary in RoundList.decode(answer.content).rounds:
        assert summary.contribute_until.endswith("Z")


@pytest.mark.parametrize("stripped", [True, False], ids=["the proxy strips the prefix", "it does not"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_behind_a_prefix(tmp_path: Path, stripped: bool, slash: str) -> None:
    """Case E6: with and without a slash at the end, with a proxy that strips the prefix and one that does not."""
    with served(tmp_path, keeps_deadlines=False, prefix=f"/fgpr{slash}") as aggregator:
        origin = aggregator.settings.origin
        assert origin.endswith("/fgpr")
        parties = [aggregator.party(f"client-{number:02d}") for number in range(4)]
        for party in parties:
            if stripped:
                strip(party)
            party.enrol()
        aggregator.advance()
        for act in ("contribute", "open"):
            for party in parties:
                getattr(party, act)()
        view = parties[0].prior()
        assert view.prior.message.version == 1
        for sent in parties[0].transport.requests:
            assert sent.url.path.startswith("/fgpr/v1/")
        bare = origin.removesuffix("/fgpr")
        for base in (origin, bare):
            document = httpx.get(f"{base}/openapi.json").json()
            assert document["servers"] == [{"url": origin}]
            assert httpx.get(f"{base}/readyz").status_code == 200
            roster = httpx.get(f"{base}/v1/federations/{NAME}/rosters/1")
            Signed[Roster].decode(roster.content).verify(parties[0].ticket.roster_key)
            entries = httpx.get(f"{base}/v1/log/entries?start=0&end=1000")
            assert entries.status_code == 200
        for wrong in ("/fgprx/v1/log/checkpoint", "/other/v1/log/checkpoint", "/fgpr/fgpr/v1/log/checkpoint"):
            assert httpx.get(bare + wrong).status_code == 404
        metrics = httpx.get(f"{origin}/metrics").text
        assert 'route="/v1/enrolments"' in metrics
        assert 'route="/enrolments"' not in metrics


def strip(party: Party) -> None:
    """Let a party's requests arrive as a proxy passes them on that strips the prefix."""
    inner = party.transport.inner

    class Stripping(httpx.BaseTransport):
        def close(self) -> None:
            inner.close()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            path = request.url.raw_path.decode().removeprefix("/fgpr")
            url = request.url.copy_with(raw_path=path.encode())
            return inner.handle_request(
                httpx.Request(request.method, url, headers=request.headers, content=request.read())
            )

    party.transport.inner = Stripping()  # type: ignore[assignment]  # a transport like the other


@pytest.mark.parametrize("path", ["/v1/log/checkpoint/", "/livez/"])
def test_another_slash_is_another_address_and_no_answer_names_the_host_of_the_request(
    aggregator: Aggregator, path: str
) -> None:
    answer = httpx.get(f"{aggregator.settings.origin}{path}", headers={"Host": "elsewhere.example"})
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:fgpr:problem:unknown-resource")
    assert "location" not in answer.headers
    assert b"elsewhere" not in answer.content
