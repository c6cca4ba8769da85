"""A revocation between the check of a signature and the commit: no effect commits for a key after it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import auth
from aggregator.service import enrolment, rotation, rounds, staff, steering
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import federations, postgresql
from fgpr import signatures
from fgpr.errors import Forbidden, Unavailable
from support.aggregator import Aggregator, caller_of, together
from support.client import NAME
from support.party import Party
from support.staff import Staff

Act = Callable[[Party], object]


def in_between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do `act` once, when the next signature was found good and nothing was done for it yet."""
    real, left = auth.verify_request, [act]

    def verify(*args: Any, **options: Any) -> Caller:
        caller = real(*args, **options)
        if left:
            left.pop()()
        return caller

    monkeypatch.setattr(auth, "verify_request", verify)


def contributing(aggregator: Aggregator) -> tuple[Party, Act]:
    parties = aggregator.enrol(5)
    aggregator.advance()
    body = parties[4].contribution()
    return parties[4], lambda party: party.send_contribution(body)


def opening(aggregator: Aggregator) -> tuple[Party, Act]:
    parties = aggregator.enrol(5)
    aggregator.advance()
    for party in parties:
        party.contribute()
    body = parties[4].opening()
    return parties[4], lambda party: party.send_opening(body)


def complaining(aggregator: Aggregator) -> tuple[Party, Act]:
    party, _ = opening(aggregator)
    return party, lambda each: each.send_complaint(b"{}", 1)


def replacing(aggregator: Aggregator) -> tuple[Party, Act]:
    parties = aggregator.enrol(5)
    body = parties[4].rotation(Ed25519PrivateKey.generate())
    return parties[4], lambda party: party.send_rotation(body)


@pytest.mark.parametrize("scene", [contributing, opening, complaining, replacing])
def test_no_effect_of_a_party(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch, scene: Callable[[Aggregator], tuple[Party, Act]]
) -> None:
    party, act = scene(aggregator)
    revoked: dict[str, Any] = {}

    def revoke() -> None:
        enrolment.revoke(aggregator.context, NAME, party.name)
        revoked.update(aggregator.dump())

    in_between(monkeypatch, revoke)
    with pytest.raises(Forbidden, match="was revoked"):
        act(party)
    assert revoked
    assert aggregator.dump() == revoked


@pytest.mark.parametrize(
    "act",
    [
        lambda person: person.issue("bench-1"),
        lambda person: person.revoke("client-00"),
        lambda person: person.set_state("paused"),
        lambda person: person.api.post(f"/v1/operator/federations/{NAME}/rounds", b""),
        lambda person: person.api.post("/v1/operator/federations", b"{}"),
        lambda person: person.send_rotation(person.rotation(Ed25519PrivateKey.generate())),
        lambda person: person.api.delete("/v1/operator/staff/olga"),
    ],
)
def test_no_effect_of_an_operator(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch, act: Callable[[Staff], object]
) -> None:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    aggregator.enrol(4)
    revoked: dict[str, Any] = {}

    def revoke() -> None:
        staff.revoke(aggregator.context, "olga")
        revoked.update(aggregator.dump())

    in_between(monkeypatch, revoke)
    with pytest.raises(Forbidden, match="was revoked"):
        act(person)
    assert aggregator.dump() == revoked


def test_a_replacement_in_between(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old key's request was signed while it was good, and has no effect all the same."""
    parties = aggregator.enrol(5)
    aggregator.advance()
    party = parties[4]
    body = party.contribution()
    replaced = party.rotation(Ed25519PrivateKey.generate())

    def replace() -> None:
        # Not over HTTP: the signature is checked on the loop that would take the request.
        caller = caller_of(party, aggregator.clock)
        rotation.replace_client_key(aggregator.context, caller, NAME, party.name, replaced)

    in_between(monkeypatch, replace)
    with pytest.raises(Forbidden, match="sign with the new one"):
        party.send_contribution(body)
    assert aggregator.dump()["contributions"] == []


def test_revoked_and_acting_at_once(aggregator: Aggregator) -> None:
    """Whatever wins, nothing of the client stands in the log or the database after its revocation."""
    parties = aggregator.enrol(8)
    keys = [Ed25519PrivateKey.generate() for _ in parties]
    bodies = [party.rotation(key) for party, key in zip(parties, keys, strict=True)]
    acts: list[Callable[[], object]] = []
    for party, body in zip(parties, bodies, strict=True):
        acts += [
            lambda party=party, body=body: party.send_rotation(body),
            lambda party=party: enrolment.revoke(aggregator.context, NAME, party.name),
        ]
    results = together(acts)
    assert all(result is None for result in results[1::2])
    gone: set[str] = set()
    for leaf in aggregator.leaves():
        if leaf.kind == "revoked":
            gone.add(leaf.client)
        elif leaf.kind == "rotated":
            assert leaf.client not in gone
    assert len(gone) == 8


@pytest.mark.parametrize("contributed", [True, False])
def test_a_cohort_without_who_was_revoked(aggregator: Aggregator, contributed: bool) -> None:
    """Neither is its contribution counted, nor is it waited for."""
    *others, last, gone = aggregator.enrol(5)
    aggregator.advance()
    for party in [*others, gone] if contributed else others:
        party.contribute()
    enrolment.revoke(aggregator.context, NAME, gone.name)
    last.contribute()
    cohort = aggregator.round(1).cohort
    assert cohort is not None
    assert cohort.message.clients() == {party.name for party in (*others, last)}


@pytest.fixture
def impatient(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Another replica, which does not wait for locks."""
    monkeypatch.setattr(postgresql, "LOCK_WAIT_MS", 100)
    made = aggregator.second_replica()
    yield made
    made.database.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_revocation_waits_for_an_effect_under_way(aggregator: Aggregator, impatient: Context) -> None:
    """On SQLite every writer waits for every other one."""
    (party,) = aggregator.enrol(1)
    with aggregator.context.database.write() as connection:
        caller = caller_of(party, aggregator.clock)
        rounds.begin(aggregator.context, connection, caller, NAME, party.name)
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            enrolment.revoke(impatient, NAME, party.name)
    enrolment.revoke(impatient, NAME, party.name)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_reader_s_revocation_waits_for_its_federation_too(aggregator: Aggregator, impatient: Context) -> None:
    """It changes no roster; but whoever locks in another order waits for one that waits for him."""
    aggregator.party("reader", "reader").enrol()
    with aggregator.context.database.write() as connection:
        federations.lock(connection, NAME)
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            enrolment.revoke(impatient, NAME, "reader")
    enrolment.revoke(impatient, NAME, "reader")


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_revocation_waits_for_an_operator_s_effect_under_way(aggregator: Aggregator, impatient: Context) -> None:
    person = Staff(aggregator, "olga", "operator")
    person.enrol()
    key = signatures.public_bytes(person.key)
    caller = Caller(signatures.key_id(key), key, person.ticket.epoch + "n" * 22, aggregator.clock())
    with aggregator.context.database.write() as connection:
        steering._spend(aggregator.context, connection, caller)
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            staff.revoke(impatient, "olga")
    staff.revoke(impatient, "olga")
