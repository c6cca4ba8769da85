"""A federation that closes the log: whoever is enrolled reads it, signed, and nobody else."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import enrolment, federations
from client_agent import enrolment as agent_enrolment
from client_agent import identity, membership, published_prior
from client_agent.api import Api
from client_agent.federation_client import FederationClient
from fgpr.errors import Forbidden, Unauthenticated
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.party import Party, refusal
from support.staff import Staff

READS = (
    "/v1/log/checkpoint",
    "/v1/log/entries?start=0&end=9",
    "/v1/log/inclusion?index=0&size=1",
    "/v1/log/consistency?old=0&new=1",
    f"/v1/federations/{NAME}/rosters/1",
)


@pytest.fixture
def closed(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    federation = settings_of().model_copy(update={"public_log": False})
    with served(tmp_path, federation, keeps_deadlines=False, url=database_url) as made:
        yield made


def test_who_reads(closed: Aggregator) -> None:
    parties = closed.enrol(4)
    closed.advance()
    auditor = Staff(closed, "aude", "auditor")
    auditor.enrol()
    reader = closed.party("reader", "reader")
    reader.enrol()
    for path in READS:
        answer = httpx.get(closed.settings.origin + path)
        assert (answer.status_code, "not public" in answer.text) == (401, True)
    for api in (parties[0].api, auditor.api, reader.api):
        for path in READS:
            bare, _, query = path.partition("?")
            params = dict(part.split("=") for part in query.split("&")) if query else None
            assert api.get(bare, params)
    # Not the stranger, nor whoever was revoked.
    stranger = parties[1].api_as(Ed25519PrivateKey.generate(), closed.clock)
    with pytest.raises(Unauthenticated):
        stranger.get("/v1/log/checkpoint")
    enrolment.revoke(closed.context, NAME, "client-03")
    assert refusal(parties[3], Forbidden, lambda: parties[3].api.get("/v1/log/checkpoint"))["status"] == 403
    # Nothing that a cache may keep for others.
    url = f"{closed.settings.origin}/v1/federations/{NAME}/rosters/1"
    parties[0].api.get("rosters/1")
    request = parties[0].transport.requests[-1]
    assert str(request.url) == url
    assert parties[0].transport.again(request).headers["Cache-Control"] == "no-store"


def test_an_agent_signs_where_it_must(closed: Aggregator, tmp_path: Path) -> None:
    def connect(origin: str, federation: str, key: Ed25519PrivateKey) -> Api:
        return Api(origin, federation, key, clock=closed.clock, attempts=1)

    home = tmp_path / "home"
    agent_enrolment.enrol(home, closed.invite("bench-1", "reader"), connect)
    known = membership.load(home)
    with connect(known.origin, known.federation, identity.load(home)) as api:
        assert published_prior.fetch(home, api).record.version == 0
        client = FederationClient(api, NAME)
        assert client.checkpoint().startswith("fgpr-log/")
        assert client.entries(0, 1).end == 1


def test_one_federation_closes_the_log_of_all(closed: Aggregator) -> None:
    federations.create(closed.context, settings_of("another"), closed.context.keys.ensure_roster("another"))
    (party,) = closed.enrol(1)
    assert isinstance(party, Party)
    assert httpx.get(f"{closed.settings.origin}/v1/log/checkpoint").status_code == 401
