"""Operators and auditors over a real server: what they do, and what it does to a federation."""

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from structlog.testing import capture_logs

from aggregator.service import staff
from aggregator.service.caller import Caller
from aggregator.service.inspection import verify_database
from aggregator.storage import staff as stored
from fgpr import signatures
from fgpr.auditlog.entries import StateChanged
from fgpr.errors import (
    Conflict,
    CryptographicError,
    EncodingError,
    Forbidden,
    QuotaExceeded,
    Unauthenticated,
    Unavailable,
    UnknownResource,
    VerificationError,
)
from fgpr.operator_rest import FederationLine, FederationRequest, IssuedTicket, OpenedRound, RoundDetails
from fgpr.rest import RoundList
from fgpr.rotation import RotationRequest
from fgpr.secagg.stages import Stage
from fgpr.staff import StaffReceipt, StaffTicket
from fgpr.ticket import Ticket
from support.aggregator import Aggregator, together
from support.client import NAME
from support.federation import SPEC
from support.party import Party, Recorded, refusal
from support.staff import Staff
from support.wire import as_another


@pytest.fixture
def olga(aggregator: Aggregator) -> Staff:
    """An operator."""
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    return person


def test_a_ticket_makes_one_operator(aggregator: Aggregator) -> None:
    person = Staff(aggregator, "olga", "operator")
    receipt = person.enrol()
    assert person.status == 201
    assert receipt == StaffReceipt(
        name="olga", role="operator", key_id=signatures.key_id(signatures.public_bytes(person.key))
    )
    # The answer was lost: again, even when the ticket has expired.
    aggregator.clock.forward(30 * 86_400)
    assert person.enrol() == receipt
    thief = Staff(aggregator, "olga", "operator", person.ticket)
    before = aggregator.dump()
    with pytest.raises(Conflict, match="report this"):
        thief.enrol()
    with pytest.raises(Conflict, match="for good"):
        staff.invite(aggregator.context, "olga", "auditor")
    assert aggregator.dump() == before
    staff.revoke(aggregator.context, "olga")
    with pytest.raises(Forbidden, match="revoked"):
        person.enrol()


@pytest.mark.parametrize(("seconds", "taken"), [(86_399, True), (86_400, False), (86_401, False)])
def test_a_ticket_expires(aggregator: Aggregator, seconds: float, taken: bool) -> None:
    person = Staff(aggregator, "olga", "operator")
    aggregator.clock.forward(seconds)
    if taken:
        assert person.enrol().name == "olga"
        return
    with pytest.raises(Unauthenticated, match="expired"):
        person.enrol()


def test_tickets_of_one_kind_are_none_of_the_other(aggregator: Aggregator) -> None:
    person, party = Staff(aggregator, "olga", "operator"), aggregator.party("bench-1")
    wrong = person.enrolment().model_copy(update={"secret": party.ticket.secret}).encode()
    with pytest.raises(Unauthenticated, match="no such ticket"):
        person.api.post("/v1/operator/enrolments", wrong)
    body = party.enrolment().model_copy(update={"secret": person.ticket.secret}).encode()
    assert refusal(party, Unauthenticated, lambda: party.api.post("/v1/enrolments", body))
    other_name = person.enrolment().model_copy(update={"name": "aude"}).encode()
    with pytest.raises(Unauthenticated, match="no such ticket"):
        person.api.post("/v1/operator/enrolments", other_name)
    # The secret is nowhere, only its hash.
    assert person.ticket.secret not in aggregator.files()
    assert party.ticket.secret not in aggregator.files()
    assert len({person.ticket.secret, party.ticket.secret}) == 2
    assert all(len(secret) == 32 for secret in (person.ticket.secret, party.ticket.secret))


def test_the_request_is_signed_by_the_key_that_it_enrols(aggregator: Aggregator) -> None:
    person = Staff(aggregator, "olga", "operator")
    body = person.enrolment().encode()
    person.sign_with(Ed25519PrivateKey.generate())
    before = aggregator.dump()
    with pytest.raises(Unauthenticated):
        person.api.post("/v1/operator/enrolments", body)
    assert aggregator.dump() == before


def test_the_request_names_the_key_that_it_enrols(aggregator: Aggregator) -> None:
    person, other = Staff(aggregator, "olga", "operator"), signatures.public_bytes(Ed25519PrivateKey.generate())
    person.api._signature = as_another(person.key, other, aggregator.clock, person.ticket.epoch)
    before = aggregator.dump()
    with pytest.raises(Unauthenticated):
        person.enrol()
    assert aggregator.dump() == before


def test_who_read_a_ticket_before_another_took_it(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    late = Staff(aggregator, "olga", "operator", person.ticket)
    before, read = aggregator.dump(), stored.read_ticket

    def stale(*asked: Any) -> stored.StaffTicketRow | None:
        found = read(*asked)
        return None if found is None else replace(found, used_by=None)

    monkeypatch.setattr(stored, "read_ticket", stale)
    with pytest.raises(Conflict, match="another key took up this ticket"):
        late.enrol()
    assert aggregator.dump() == before


def test_fifty_keys_race_for_one_ticket(aggregator: Aggregator) -> None:
    ticket = staff.invite(aggregator.context, "olga", "operator")
    people = [Staff(aggregator, "olga", "operator", ticket) for _ in range(50)]
    results = together([person.enrol for person in people])
    assert sum(isinstance(result, StaffReceipt) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 49
    assert len(aggregator.dump()["staff"]) == 1


def test_a_ticket_is_one_line(aggregator: Aggregator) -> None:
    ticket = staff.invite(aggregator.context, "aude", "auditor")
    assert StaffTicket.from_text(f" {ticket.to_text()}\n") == ticket
    assert repr(ticket.secret) not in repr(ticket)
    for text in ("fgpr1.abc", ticket.to_text()[:-9], "fgprs1.!!!", "fgprs1.aaaaa"):
        with pytest.raises(EncodingError):
            StaffTicket.from_text(text)


def test_a_federation_from_afar(aggregator: Aggregator, olga: Staff) -> None:
    settings = {"name": "new", "model": SPEC.to_json(), "rounds": {"min_clients": 3}}
    body = FederationRequest.from_json({"settings": settings}).encode()
    made = FederationLine.decode(olga.api.post("/v1/operator/federations", body))
    assert made == FederationLine(name="new", state="open", clients=0, round=0, stage=None, prior_version=0)
    with pytest.raises(Conflict, match="already"):
        olga.api.post("/v1/operator/federations", body)
    # With a roster key that is held elsewhere, none is made here.
    key = signatures.public_bytes(Ed25519PrivateKey.generate())
    offline = FederationRequest.from_json({"settings": settings | {"name": "far"}}).model_copy(
        update={"roster_key": key}
    )
    olga.api.post("/v1/operator/federations", offline.encode())
    assert not (aggregator.settings.keys / "roster-far.pem").exists()
    assert (aggregator.settings.keys / "roster-new.pem").exists()
    assert [line.name for line in olga.federations().federations] == [NAME, "far", "new"]
    before = aggregator.dump()
    for broken in ({"settings": {}}, {"settings": settings | {"name": "../x"}}, {"settings": settings | {"x": 1}}, {}):
        with pytest.raises(EncodingError):
            olga.api.post("/v1/operator/federations", json.dumps(broken).encode())
    assert aggregator.dump() == before


def test_a_replica_without_a_federation_s_roster_key(aggregator: Aggregator, olga: Staff) -> None:
    aggregator.enrol(4)
    key = aggregator.settings.keys / f"roster-{NAME}.pem"
    key.unlink()
    with capture_logs() as logs:
        answer = refusal(olga, Unavailable, lambda: olga.api.post(f"/v1/operator/federations/{NAME}/rounds", b""))
    assert (answer["status"], olga.status) == (503, 503)
    assert answer["detail"] == (
        f"the roster key of federation {NAME} cannot be used at this replica: its log says why and what to do"
    )
    (reason,) = [line["reason"] for line in logs if line["event"] == "roster key"]
    assert reason.startswith(f"cannot read {key} as uid ")
    assert reason.endswith(f"; copy roster-{NAME}.pem from the replica or machine on which it was made")
    # A creation that is refused leaves no key here, which would be another one than the federation's.
    settings = {"name": NAME, "model": SPEC.to_json(), "rounds": {"min_clients": 3}}
    with pytest.raises(Conflict, match="already"):
        olga.api.post("/v1/operator/federations", FederationRequest.from_json({"settings": settings}).encode())
    assert not key.exists()


def test_a_ticket_from_afar(aggregator: Aggregator, olga: Staff) -> None:
    ticket = Ticket.from_text(IssuedTicket.decode(olga.issue("bench-1")).ticket)
    party = Party(ticket, Recorded(), aggregator.clock, aggregator.context.random_bytes)
    aggregator.parties["bench-1"] = party
    assert party.enrol().role == "client"
    (line,) = olga.clients().clients
    assert (line.client, line.role, line.revoked_at) == ("bench-1", "client", None)
    assert line.key_id == signatures.key_id(party.client.public_key())
    with pytest.raises(Conflict, match="keeps its id"):
        olga.issue("bench-1")
    with pytest.raises(EncodingError):
        olga.api.post(f"/v1/operator/federations/{NAME}/tickets", b'{"client":"x","role":"operator"}')
    with pytest.raises(UnknownResource):
        olga.api.post("/v1/operator/federations/nowhere/tickets", b'{"client":"x"}')
    # Revoked at once.
    olga.revoke("bench-1")
    assert refusal(party, Forbidden, party.view)["status"] == 403
    assert olga.clients().clients[0].revoked_at is not None
    with pytest.raises(Conflict):
        olga.revoke("bench-1")
    with pytest.raises(UnknownResource):
        olga.revoke("nobody")


def test_how_many_tickets_in_a_day(aggregator: Aggregator, olga: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggregator.service.steering.TICKETS_A_DAY", 3)
    for number in range(3):
        olga.issue(f"bench-{number}")
    with pytest.raises(QuotaExceeded, match="the most that one may"):
        olga.issue("bench-3")
    assert olga.status == 429
    # The command line knows no such limit, and tomorrow is another day.
    aggregator.invite("bench-3")
    aggregator.clock.forward(86_400)
    olga.issue("bench-4")


def test_rounds_from_afar(aggregator: Aggregator, olga: Staff) -> None:
    path = f"/v1/operator/federations/{NAME}/rounds"
    aggregator.enrol(4)
    assert OpenedRound.decode(olga.api.post(path, b"")).round == 1
    with pytest.raises(Conflict, match="must end first"):
        olga.api.post(path, b"")
    (line,) = RoundList.decode(olga.api.get(path)).rounds
    assert (line.round, line.stage) == (1, Stage.CONTRIBUTING)
    details = RoundDetails.decode(olga.api.get(f"{path}/1")).details
    assert details["summary"]["invited"] == 4
    with pytest.raises(UnknownResource):
        olga.api.get(f"{path}/7")


def test_paused_resumed_closed(aggregator: Aggregator, olga: Staff) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    assert olga.set_state("paused").state == "paused"
    leaves = len(aggregator.leaves())
    assert olga.set_state("paused", "again").state == "paused"
    assert len(aggregator.leaves()) == leaves
    # The running round goes on to its end; none follows.
    for party in parties:
        party.contribute()
    for party in parties:
        party.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    aggregator.advance()
    assert aggregator.last_round() == 1
    with pytest.raises(Conflict, match="is paused"):
        olga.api.post(f"/v1/operator/federations/{NAME}/rounds", b"")
    assert olga.set_state("resumed").state == "open"
    aggregator.advance()
    assert aggregator.last_round() == 2
    late = aggregator.party("late")
    assert olga.set_state("closed", "the engines are scrapped").state == "closed"
    assert aggregator.leaves()[-1] == StateChanged(federation=NAME, state="closed", reason="the engines are scrapped")
    for state in ("resumed", "paused", "released"):
        with pytest.raises(Conflict, match="for good"):
            olga.set_state(state)
    assert "nobody is admitted" in refusal(late, Conflict, late.enrol)["detail"]
    with pytest.raises(Conflict, match="nobody is admitted"):
        aggregator.invite("later")
    aggregator.pass_contributing()
    aggregator.pass_pause()
    assert aggregator.last_round() == 2
    # What was learned stays there to be read.
    assert parties[0].prior().prior.message.version == 1
    assert verify_database(aggregator.context.database, aggregator.anchors()).states == {NAME: "closed"}


def test_an_operator_leaves(aggregator: Aggregator, olga: Staff) -> None:
    with pytest.raises(Forbidden, match="its own key only"):
        olga.api.delete("/v1/operator/staff/aude")
    olga.api.delete("/v1/operator/staff/olga")
    with pytest.raises(Forbidden, match="revoked"):
        olga.federations()
    with pytest.raises(Conflict, match="revoked already"):
        staff.revoke(aggregator.context, "olga")
    with pytest.raises(UnknownResource):
        staff.revoke(aggregator.context, "nobody")
    assert [row.revoked_at is not None for row in staff.listing(aggregator.context)] == [True]


def test_a_replayed_request_of_an_operator(aggregator: Aggregator, olga: Staff) -> None:
    olga.issue("bench-1")
    before = aggregator.dump()
    assert olga.transport.again(olga.transport.requests[-1]).status_code == 401
    assert aggregator.dump() == before


def test_a_key_by_which_anybody_could_sign_is_no_operator_s(aggregator: Aggregator, olga: Staff) -> None:
    aude, neutral = Staff(aggregator, "aude", "operator"), b"\x01" + bytes(31)
    caller = Caller(signatures.key_id(neutral), neutral, "x" * 24, aggregator.clock())
    before = aggregator.dump()
    with pytest.raises(CryptographicError, match="prime order"):
        staff.enrol(aggregator.context, caller, aude.enrolment())
    # Nor does a key give way to one: nothing that it signs holds inside a body.
    good = RotationRequest.decode(olga.rotation(aude.key))
    change = good.signed.change.model_copy(update={"new_key": neutral})
    by_old = signatures.sign(olga.key, change.label, change.encode())
    weak = good.signed.model_copy(update={"change": change, "by_old": by_old, "by_new": neutral + bytes(32)})
    with pytest.raises(VerificationError):
        olga.send_rotation(good.model_copy(update={"signed": weak}).encode())
    assert aggregator.dump() == before
