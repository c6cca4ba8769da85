"""An identity key gives way to another: at once, in the log, in the next roster, and in the rounds that run."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import enrolment, rosters
from aggregator.service.inspection import verify_database
from aggregator.storage import clients
from client_agent import opening_keys
from fgpr import signatures
from fgpr.auditlog.entries import KeyReplaced
from fgpr.errors import (
    Conflict,
    CryptographicError,
    EncodingError,
    Forbidden,
    QuotaExceeded,
    Unavailable,
    VerificationError,
)
from fgpr.rotation import RotationReceipt, RotationRequest, SignedKeyChange
from fgpr.secagg.stages import Stage
from fgpr.secagg.suites import private_half
from support.aggregator import Aggregator, together
from support.client import NAME
from support.party import Party, Recorded, refusal
from support.staff import Staff


def new_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


def test_the_new_key_speaks_and_the_old_one_no_more(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    party, old = parties[0], parties[0].client.identity_key
    new = new_key()
    body = party.rotation(new)
    assert party.send_rotation(body) == RotationReceipt(
        holder="client-00", key_id=signatures.key_id(signatures.public_bytes(new))
    )
    leaf = aggregator.last("rotated")
    assert isinstance(leaf, KeyReplaced)
    assert (leaf.client, leaf.rotation) == ("client-00", RotationRequest.decode(body).signed)
    # The old key: told so, and nothing else.
    before = aggregator.dump()
    assert "sign with the new one" in refusal(party, Forbidden, party.view)["detail"]
    for act in (
        lambda: party.send_rotation(party.rotation(new_key())),
        lambda: party.api.delete("clients/client-00"),
        party.enrol,
    ):
        assert refusal(party, Forbidden, act)["status"] == 403
    assert aggregator.dump() == before
    # But for the very bytes that replaced it: their answer may have been lost.
    answered = party.transport.answers
    party.send_rotation(body)
    assert answered[-1][0] == 200
    assert aggregator.kinds().count("rotated") == 1
    party.use_key(new)
    aggregator.advance()
    roster = party.roster(1).message
    assert roster.identity_key("client-00") == signatures.public_bytes(new) != signatures.public_bytes(old)
    for each in parties:
        each.contribute()
    for each in parties:
        each.open()
    assert aggregator.round(1).stage is Stage.PUBLISHED
    verify_database(aggregator.context.database, aggregator.anchors())


def test_inside_a_running_round(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(12)
    aggregator.advance()
    early, late, keen, *others = parties
    sent = early.contribution()
    early.send_contribution(sent)
    early.rotate()
    # What the old key signed before counts, and its bytes are acknowledged again.
    assert early.send_contribution(sent).counted
    written = late.contribution()
    late.rotate()
    told = refusal(late, Conflict, lambda: late.send_contribution(written))
    assert "first round whose roster names the new one" in told["detail"]
    for party in (keen, *others):
        party.contribute()
    # Nobody waits for the one who replaced its key before it contributed.
    assert aggregator.round(1).stage is Stage.OPENING
    counted = aggregator.round(1).cohort
    assert counted is not None
    assert counted.message.clients() == {party.name for party in parties} - {late.name}
    opening = early.opening()
    assert refusal(early, Conflict, lambda: early.send_opening(opening))["status"] == 409
    written = keen.opening()
    keen.rotate()
    assert refusal(keen, Conflict, lambda: keen.send_opening(written))["status"] == 409
    for party in others:
        party.open()
    # Nine of twelve seats are left, as many as it takes, and nobody waits for the others.
    assert aggregator.round(1).stage is Stage.PUBLISHED
    plan = others[0].plan().message
    assert plan.roster_version == 2
    assert [seat.key is not None for seat in plan.seats] == [True] * 12
    for party in parties:
        party.contribute()
    for party in parties[:10]:
        party.open()
    assert aggregator.round(2).stage is Stage.PUBLISHED
    verify_database(aggregator.context.database, aggregator.anchors())


def test_while_the_theta_is_carried_the_seat_stays_empty(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(6)
    aggregator.advance()
    for party in parties[:2]:
        party.contribute()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    assert aggregator.prior().reason == "carried"
    parties[5].rotate()
    number = parties[0].plan().message.round
    if parties[0].plan().message.seats[5].key is not None:
        # The round that opened with the carry had the old key; the next one has none.
        aggregator.pass_contributing()
        number = aggregator.last_round()
    plan = aggregator.round(number).plan.message
    assert plan.roster_version == 1
    assert [seat.key is not None for seat in plan.seats] == [True] * 5 + [False]
    for party in parties[:5]:
        party.contribute()
    assert aggregator.round(number).stage is Stage.OPENING


def test_what_is_no_replacement(aggregator: Aggregator) -> None:
    party, other = aggregator.enrol(2)
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    old, new = party.client.identity_key, new_key()
    good = RotationRequest.decode(party.rotation(new))
    before = aggregator.dump()

    def send(request: RotationRequest, who: Party = party) -> object:
        return who.send_rotation(request.encode())

    def with_change(change: SignedKeyChange) -> RotationRequest:
        return good.model_copy(update={"signed": change})

    def change(holder: str, first: Ed25519PrivateKey, second: Ed25519PrivateKey) -> SignedKeyChange:
        return SignedKeyChange.make(NAME, holder, first, second)

    assert refusal(party, EncodingError, lambda: party.send_rotation(b"{}"))["status"] == 422
    forged = good.signed.model_copy(update={"by_new": good.signed.by_old})
    assert refusal(party, VerificationError, lambda: send(with_change(forged)))["status"] == 422
    forged = good.signed.model_copy(update={"by_old": good.signed.by_new})
    assert refusal(party, VerificationError, lambda: send(with_change(forged)))["status"] == 422
    assert (
        "make another"
        in refusal(party, VerificationError, lambda: send(with_change(change(party.name, old, old))))["detail"]
    )
    for wrong in (change("client-01", old, new), change(party.name, new, old)):
        assert refusal(party, EncodingError, lambda wrong=wrong: send(with_change(wrong)))["status"] == 422
    elsewhere = SignedKeyChange.make("another", party.name, old, new)
    assert refusal(party, EncodingError, lambda: send(with_change(elsewhere)))["status"] == 422
    # Another client's key, and another client's place.
    taken = change(party.name, old, other.client.identity_key)
    assert refusal(party, Conflict, lambda: send(with_change(taken)))["status"] == 409
    assert refusal(other, Forbidden, lambda: other.api.put("clients/client-00/key", good.encode()))["status"] == 403
    # The next opening key: there, signed by the new key, rising, usable; a reader has none.
    assert refusal(party, EncodingError, lambda: send(good.model_copy(update={"opening_key": None})))["status"] == 422
    for changes in ({"serial": 1}, {"client": "client-01"}, {"federation": "another"}):
        body = party.rotation(new, **changes)
        assert refusal(party, EncodingError, lambda body=body: party.send_rotation(body))["status"] == 422
    hybrid = opening_keys.signed(new, NAME, party.name, 9, private_half(bytes(96)))
    wrong_suite = good.model_copy(update={"opening_key": hybrid})
    assert "of suite" in refusal(party, EncodingError, lambda: send(wrong_suite))["detail"]
    assert refusal(party, CryptographicError, lambda: party.send_rotation(party.rotation(new, key=bytes(32))))
    stale = good.model_copy(update={"opening_key": party.first_key})
    assert refusal(party, VerificationError, lambda: send(stale))["status"] == 422
    mine = SignedKeyChange.make(NAME, "reader", reader.client.identity_key, new)
    with_key = good.model_copy(update={"signed": mine})
    assert refusal(reader, EncodingError, lambda: send(with_key, reader))["status"] == 422
    assert aggregator.dump() == before
    # A reader's key, too, is replaced and logged.
    reader.rotate()
    assert reader.prior().prior.message.version == 0
    assert aggregator.kinds()[-1] == "rotated"


def test_a_key_that_was_replaced_is_nobody_s_again(aggregator: Aggregator) -> None:
    party, other = aggregator.enrol(2)
    old = party.client.identity_key
    party.rotate()
    assert "replaced once" in refusal(other, Conflict, lambda: other.send_rotation(other.rotation(old)))["detail"]
    late = aggregator.party("late")
    late.client.identity_key = old
    late.api = late.api_as(old, aggregator.clock)
    late.first_key = type(late.first_key).make(old, late.first_key.message)
    assert refusal(late, Conflict, late.enrol)["status"] == 409
    # Nor may one key be a client's and an operator's.
    person = Staff(aggregator, "olga", "operator")
    for key in (old, party.client.identity_key):
        person.sign_with(key)
        with pytest.raises(Conflict):
            person.enrol()


def test_of_two_replacements_at_once_one_stands(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    twins = []
    for _ in range(8):
        twin = Party(party.ticket, Recorded(), aggregator.clock, aggregator.context.random_bytes)
        twin.client = party.client
        twin.use_key(party.client.identity_key)
        twins.append(twin)
    bodies = [party.rotation(new_key()) for _ in twins]
    results = together(
        [lambda twin=twin, body=body: twin.send_rotation(body) for twin, body in zip(twins, bodies, strict=True)]
    )
    for twin in twins:
        twin.api.close()
    assert sum(isinstance(result, RotationReceipt) for result in results) == 1
    assert sum(isinstance(result, Forbidden) for result in results) == 7
    assert aggregator.kinds().count("rotated") == 1
    verify_database(aggregator.context.database, aggregator.anchors())


def test_a_row_that_changed_meanwhile(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    party = aggregator.enrol(1)[0]
    body = party.rotation(Ed25519PrivateKey.generate())
    before = aggregator.dump()
    monkeypatch.setattr(clients, "replace_key", lambda *_: False)
    with pytest.raises(Unavailable, match="is being replaced by another request"):
        party.send_rotation(body)
    assert aggregator.dump() == before


def test_a_revoked_client_replaces_nothing(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    body = party.rotation(new_key())
    party.send_rotation(body)
    enrolment.revoke(aggregator.context, NAME, party.name)
    before = aggregator.dump()
    assert refusal(party, Forbidden, lambda: party.send_rotation(body))["status"] == 403
    assert aggregator.dump() == before


def test_how_often_in_a_day(aggregator: Aggregator) -> None:
    (party,) = aggregator.enrol(1)
    for _ in range(10):
        party.rotate()
    told = refusal(party, QuotaExceeded, party.rotate)
    assert (told["status"], told["limit"]) == (429, 10)
    aggregator.clock.forward(86_400)
    party.rotate()


def test_a_roster_that_was_exported_before_the_replacement_is_taken_in(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    draft = rosters.export(aggregator.context, NAME)
    parties[0].rotate()
    key = aggregator.context.keys.roster(NAME)
    signed = rosters.Signed[rosters.Roster].make(key, draft.with_nonce(bytes(32)))
    assert rosters.bring_in(aggregator.context, signed), "another version has to follow"


def test_operators_replace_theirs(aggregator: Aggregator) -> None:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    new = new_key()
    body = person.rotation(new)
    person.send_rotation(body)
    before = aggregator.dump()
    with pytest.raises(Forbidden, match="sign with the new one"):
        person.federations()
    with pytest.raises(Forbidden):
        person.send_rotation(person.rotation(new_key()))
    assert aggregator.dump() == before
    assert person.send_rotation(body).holder == "olga"
    person.sign_with(new)
    assert [line.name for line in person.federations().federations] == [NAME]
    with pytest.raises(VerificationError):
        person.send_rotation(person.rotation(new))
    with_key = RotationRequest.decode(person.rotation(new_key())).to_json()
    (party,) = aggregator.enrol(1)
    with_key["opening_key"] = party.first_key.to_json()
    with pytest.raises(EncodingError, match="no opening key"):
        person.send_rotation(RotationRequest.from_json(with_key).encode())
    with_key |= {"opening_key": None, "declared": party.declared(9).to_json()}
    with pytest.raises(EncodingError, match="declares no weight"):
        person.send_rotation(RotationRequest.from_json(with_key).encode())
    with pytest.raises(Forbidden, match="its own key only"):
        person.api.put("/v1/operator/staff/aude/key", body)


def test_how_often_an_operator_in_a_day(aggregator: Aggregator) -> None:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    for _ in range(10):
        key = new_key()
        person.send_rotation(person.rotation(key))
        person.sign_with(key)
    with pytest.raises(QuotaExceeded, match="10 times within a day"):
        person.send_rotation(person.rotation(new_key()))
    aggregator.clock.forward(86_400)
    person.send_rotation(person.rotation(new_key()))
