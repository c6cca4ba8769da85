from dataclasses import replace
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import enrolment
from aggregator.storage import clients
from aggregator.storage.clients import TicketRow
from fgpr import signatures
from fgpr.errors import Conflict, CryptographicError, EncodingError, Forbidden, Unauthenticated, VerificationError
from fgpr.message import Signed
from fgpr.rest import EnrolmentReceipt
from fgpr.secagg.messages import OpeningKey
from support.aggregator import Aggregator, caller_of, together
from support.client import NAME
from support.party import Party, Recorded, refusal
from support.wire import as_another


def test_a_ticket_makes_one_identity(aggregator: Aggregator) -> None:
    party = aggregator.party("bench-1")
    receipt = party.enrol()
    status, first = party.transport.answers[-1]
    assert status == 201
    assert (receipt.client, receipt.role, receipt.round, receipt.prior_version) == ("bench-1", "client", 0, 0)
    assert receipt.key_id == signatures.key_id(party.client.public_key())
    # Again, even when the ticket has expired meanwhile and the federation stands elsewhere.
    aggregator.enrol(4)
    aggregator.advance()
    aggregator.clock.forward(30 * 86_400)
    party.enrol()
    assert party.transport.answers[-1] == (201, first)
    assert aggregator.kinds().count("enrolled") == 5


def test_a_ticket_that_another_key_took_up(aggregator: Aggregator) -> None:
    party = aggregator.party("bench-1")
    party.enrol()
    thief = Party(party.ticket, party.transport, aggregator.clock, aggregator.context.random_bytes)
    before = aggregator.dump()
    assert refusal(thief, Conflict, thief.enrol)["status"] == 409
    assert aggregator.dump() == before


def test_tickets_that_are_none(aggregator: Aggregator) -> None:
    party = aggregator.party("bench-1")
    good = party.enrolment()
    before = aggregator.dump()
    for changes in ({"secret": bytes(32)}, {"client": "bench-2"}, {"federation": "another"}):
        wrong = good.model_copy(update=changes).encode()
        assert refusal(party, Unauthenticated, lambda wrong=wrong: party.api.post("/v1/enrolments", wrong))
    aggregator.clock.forward(7 * 86_400)
    assert "expired" in refusal(party, Unauthenticated, party.enrol)["detail"]
    assert aggregator.dump() == before


def test_the_request_is_signed_by_the_key_that_it_enrols(aggregator: Aggregator) -> None:
    party = aggregator.party("bench-1")
    other = party.api_as(Ed25519PrivateKey.generate(), aggregator.clock)
    body, before = party.enrolment().encode(), aggregator.dump()
    told = refusal(party, Unauthenticated, lambda: other.post("/v1/enrolments", body))
    assert told["status"] == 401
    url, headers = f"{party.ticket.origin}/v1/enrolments", {"Content-Type": "application/json"}
    assert party.transport.again(httpx.Request("POST", url, content=body, headers=headers)).status_code == 401
    assert aggregator.dump() == before


def test_the_request_names_the_key_that_it_enrols(aggregator: Aggregator) -> None:
    """By another one's id the key could be taken for that of its holder."""
    party, other = aggregator.party("bench-1"), aggregator.party("bench-2")
    party.api._signature = as_another(
        party.client.identity_key, other.client.public_key(), aggregator.clock, party.ticket.epoch
    )
    before = aggregator.dump()
    assert refusal(party, Unauthenticated, party.enrol)["status"] == 401
    assert aggregator.dump() == before


def test_who_read_a_ticket_before_another_took_it(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    party = aggregator.party("bench-1")
    party.enrol()
    late = Party(party.ticket, party.transport, aggregator.clock, aggregator.context.random_bytes)
    before, read = aggregator.dump(), clients.read_ticket

    def stale(*asked: Any, **options: Any) -> TicketRow | None:
        found = read(*asked, **options)
        return None if found is None else replace(found, used_by=None)

    monkeypatch.setattr(clients, "read_ticket", stale)
    assert "another key took up this ticket" in refusal(late, Conflict, late.enrol)["detail"]
    assert aggregator.dump() == before


def test_a_party_enrols_once(aggregator: Aggregator) -> None:
    first = aggregator.party("bench-1")
    second_ticket = aggregator.invite("bench-1")
    third = aggregator.party("bench-3")
    first.enrol()
    late = Party(second_ticket, first.transport, aggregator.clock, aggregator.context.random_bytes)
    before = aggregator.dump()
    assert "enrolled already" in refusal(late, Conflict, late.enrol)["detail"]
    with pytest.raises(Conflict, match="keeps its id"):
        aggregator.invite("bench-1")
    # One key cannot be two parties.
    third.client.identity_key = first.client.identity_key
    third.api = third.api_as(first.client.identity_key, aggregator.clock)
    third.first_key = Signed[OpeningKey].make(first.client.identity_key, third.first_key.message)
    assert refusal(third, Conflict, third.enrol)["status"] == 409
    assert aggregator.dump() == before


def test_the_first_opening_key(aggregator: Aggregator) -> None:
    other = aggregator.party("other")
    other.enrol()
    party, reader = aggregator.party("bench-1"), aggregator.party("reader", "reader")
    good = party.first_key.message
    key = party.client.identity_key
    before = aggregator.dump()

    def enrol(opening_key: Signed[OpeningKey] | None, who: Party = party) -> EnrolmentReceipt:
        body = who.enrolment().model_copy(update={"opening_key": opening_key}).encode()
        return EnrolmentReceipt.decode(who.api.post("/v1/enrolments", body))

    def signed(**changes: object) -> Signed[OpeningKey]:
        return Signed[OpeningKey].make(key, good.model_copy(update=changes))

    assert refusal(party, EncodingError, lambda: enrol(None))["status"] == 422
    assert refusal(reader, EncodingError, lambda: enrol(party.first_key, reader))["status"] == 422
    for changes in ({"serial": 2}, {"client": "other"}, {"federation": "another"}):
        assert refusal(party, EncodingError, lambda changes=changes: enrol(signed(**changes)))["status"] == 422
    forged = Signed[OpeningKey].make(other.client.identity_key, good)
    assert refusal(party, VerificationError, lambda: enrol(forged))["status"] == 422
    # The public half of another client's key, under one's own name, would make every client refuse every plan.
    stolen = signed(key=other.first_key.message.key)
    assert "make a fresh one" in refusal(party, Conflict, lambda: enrol(stolen))["detail"]
    # So would a point of low order, for which nobody can seal.
    low = signed(key=bytes(32))
    assert refusal(party, CryptographicError, lambda: enrol(low))["status"] == 422
    assert aggregator.dump() == before
    assert enrol(party.first_key).client == "bench-1"
    assert enrol(None, reader).role == "reader"


def test_a_key_by_which_anybody_could_sign(aggregator: Aggregator) -> None:
    """A reader sends nothing that is signed inside: only its requests are, and by this key they hold for everything."""
    reader, neutral = aggregator.party("reader", "reader"), b"\x01" + bytes(31)
    wanted = reader.enrolment().model_copy(update={"identity_key": neutral, "opening_key": None})
    caller = caller_of(reader, aggregator.clock)
    weak = replace(caller, key_id=signatures.key_id(neutral), public_key=neutral)
    before = aggregator.dump()
    with pytest.raises(CryptographicError, match="prime order"):
        enrolment.enrol(aggregator.context, weak, wanted)
    assert aggregator.dump() == before


def test_fifty_keys_race_for_one_ticket(aggregator: Aggregator) -> None:
    ticket = aggregator.invite("bench-1")
    parties = [Party(ticket, Recorded(), aggregator.clock, aggregator.context.random_bytes) for _ in range(50)]
    results = together([party.enrol for party in parties])
    for party in parties:
        party.api.close()
    winners = [party for party, result in zip(parties, results, strict=True) if isinstance(result, EnrolmentReceipt)]
    assert len(winners) == 1
    assert all(isinstance(result, EnrolmentReceipt | Conflict) for result in results)
    rows = aggregator.dump()
    assert [row[3] for row in rows["clients"]] == [winners[0].client.public_key()]
    assert aggregator.kinds() == ["federation", "prior", "ticket", "enrolled", "opening-key"]


def test_leaving(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    leaver = parties[4]
    before = aggregator.dump()
    told = refusal(leaver, Forbidden, lambda: leaver.api.delete("clients/client-00"))
    assert told["status"] == 403
    assert aggregator.dump() == before
    assert leaver.api.delete("clients/client-04") == b""
    assert leaver.transport.answers[-1][0] == 204
    assert aggregator.leaves()[-1].to_json() == {
        "kind": "revoked",
        "federation": NAME,
        "client": "client-04",
        "by": "client",
    }
    assert refusal(leaver, Forbidden, leaver.view)["status"] == 403
    # The answer was lost: asked again, it is the same, and nothing more happens.
    leaves = aggregator.leaves()
    assert leaver.api.delete("clients/client-04") == b""
    assert aggregator.leaves() == leaves
    # A revoked key cannot be revoked again, nor can its request be replayed.
    replayed = leaver.transport.again(leaver.transport.requests[-1])
    assert replayed.status_code == 401
    assert refusal(leaver, Forbidden, lambda: leaver.api.delete("clients/client-00"))["status"] == 403
    with pytest.raises(Conflict, match="was revoked at"):
        enrolment.revoke(aggregator.context, NAME, "client-04")
    aggregator.advance()
    assert parties[0].plan().message.invited == tuple(party.name for party in parties[:4])
