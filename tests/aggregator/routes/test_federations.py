import httpx
import numpy as np

from aggregator.keys import KeyDirectory
from aggregator.service import federations
from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.errors import Forbidden, UnknownResource
from fgpr.message import Signed
from fgpr.rest import LogProof
from fgpr.secagg.roster import Roster
from support.aggregator import Aggregator, settings_of
from support.party import refusal


def test_priors_come_with_their_leaf_and_its_place_in_the_log(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for act in ("contribute", "open"):
        for party in parties:
            getattr(party, act)()
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    now = reader.checkpoint()
    for asked, version in (("latest", 1), (0, 0), (1, 1)):
        view = reader.prior(asked)
        view.prior.verify(reader.ticket.service_key)
        assert view.prior.message.version == version
        leaf = entries.decode(view.leaf)
        assert isinstance(leaf, entries.PriorPublished)
        assert leaf.prior == view.prior
        asked_for = {"index": view.index, "size": now.size}
        proof = LogProof.decode(reader.api.get_public("/v1/log/inclusion", asked_for)).hashes
        merkle.verify_inclusion(merkle.leaf_hash(view.leaf), view.index, now.size, proof, now.root)
    np.testing.assert_array_equal(reader.prior().prior.message.prior().theta, aggregator.prior().vector())


def test_what_was_never_published(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    assert refusal(party, UnknownResource, lambda: party.prior(1))["status"] == 404
    assert refusal(party, UnknownResource, lambda: party.roster(1))["status"] == 404


def test_priors_are_for_members_of_the_federation(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    other = settings_of("another")
    federations.create(aggregator.context, other, KeyDirectory(aggregator.settings.keys).ensure_roster("another"))
    path = f"{party.ticket.origin}/v1/federations/another/priors/latest"
    assert httpx.get(path).status_code == 401
    told = refusal(party, Forbidden, lambda: party.api.get("/v1/federations/another/priors/latest"))
    assert "belongs to federation engines" in told["detail"]
    assert refusal(party, Forbidden, lambda: party.api.get("/v1/federations/nowhere/rounds/current"))


def test_a_roster_is_public_and_never_changes(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    answer = httpx.get(f"{parties[0].ticket.origin}/v1/federations/engines/rosters/1")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    roster = parties[0].roster(1)
    roster.verify(parties[0].ticket.roster_key)
    assert Signed[Roster].decode(answer.content) == roster
    assert roster.message.active() == tuple(party.name for party in parties)
    assert httpx.get(f"{parties[0].ticket.origin}/v1/log/checkpoint").headers["cache-control"] == "no-store"
