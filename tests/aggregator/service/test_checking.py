"""Each invariant: one fault is planted in a real database, and found; without it nothing is."""

import hashlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import checking, enrolment, staff
from aggregator.service.invariants.invariant import INVARIANTS
from fgpr.auditlog import cosignature, entries
from fgpr.auditlog.entries import KeyReplaced, PriorPublished, RoundPlanned
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.messages import Header, Opening
from fgpr.secagg.witnessing import cosigned_checkpoint
from support.client import NAME, SECONDS
from support.forged_database import AGAIN, EMPTY, OPENING, PUBLISHED, VOID, Forged

HEADER = "SELECT header FROM contributions WHERE round = :r AND client = :c"
SET_HEADER = "UPDATE contributions SET header = :d WHERE round = :r AND client = :c"


def test_nothing_is_wrong_after_an_honest_run(made: Forged) -> None:
    assert made.numbers() == set()
    assert made.numbers(*(made.journal(party) for party in made.parties)) == set()


def plant_another_prior(made: Forged) -> set[int]:
    record = made.aggregator.prior()
    other = record.model_copy(update={"theta": tuple(value + 0.1 for value in record.theta)})
    document = Signed[PriorRecord].make(made.aggregator.context.keys.service(), other).encode()
    made.execute("UPDATE priors SET document = :d WHERE version = :v", d=document, v=record.version)
    # The tables do not hold the logged documents either.
    return {1, 4}


def plant_another_contribution(made: Forged) -> set[int]:
    party = made.parties[1]
    header = Signed[Header].decode(made.value(HEADER, r=PUBLISHED, c=party.name))
    other = header.message.model_copy(update={"masked": hashlib.sha256(b"").digest()})
    document = Signed[Header].make(party.client.identity_key, other).encode()
    made.execute(SET_HEADER, d=document, r=PUBLISHED, c=party.name)
    return {2}


def plant_too_few_openings(made: Forged) -> set[int]:
    made.execute("DELETE FROM openings WHERE round = :r AND client IN ('client-00', 'client-02')", r=AGAIN)
    # The log counts them.
    return {3, 5}


def plant_a_stage_without_leaf(made: Forged) -> set[int]:
    made.execute("UPDATE rounds SET stage = 'carried' WHERE number = :r", r=EMPTY)
    return {4}


def plant_a_revocation_without_leaf(made: Forged) -> set[int]:
    made.execute("UPDATE clients SET revoked_at = enrolled_at WHERE client = 'client-01'")
    return {4}


def plant_an_unsigned_body(made: Forged) -> set[int]:
    header = Signed[Header].decode(made.value(HEADER, r=AGAIN, c="client-02"))
    broken = header.model_copy(update={"signature": bytes(64)})
    made.execute(SET_HEADER, d=broken.encode(), r=AGAIN, c="client-02")
    return {5}


def plant_an_uninvited_contribution(made: Forged) -> set[int]:
    made.execute("UPDATE contributions SET client = 'stranger' WHERE round = :r AND client = 'client-02'", r=VOID)
    # Nor is it the stranger's own.
    return {5, 7}


def plant_an_opening_after_revocation(made: Forged) -> set[int]:
    party, round_ = made.parties[3], made.aggregator.round(OPENING)
    assert round_.cohort is not None
    length = len(round_.plan.message.codec["names"]) + 1  # type: ignore[arg-type]
    answer = Opening(
        federation=NAME,
        round=OPENING,
        cohort=round_.cohort.message.digest(),
        client=party.name,
        sum=bytes(8 * length),
        next_key=party.client.new_key(),
        cosignature=cosignature.cosign(
            cosigned_checkpoint(round_.cohort.message, party.ticket.service_key), party.client.identity_key, SECONDS
        ),
    )
    document = Signed[Opening].make(party.client.identity_key, answer).encode()
    made.execute(
        "INSERT INTO openings (federation, round, client, document) VALUES (:f, :r, :c, :d)",
        f=NAME,
        r=OPENING,
        c=party.name,
        d=document,
    )
    return {8}


def plant_a_second_ticket_of_one_client(made: Forged) -> set[int]:
    made.execute(
        "INSERT INTO tickets (secret_hash, federation, client, role, expires_at, used_by) "
        "SELECT :h, federation, client, role, expires_at, used_by FROM tickets WHERE client = 'client-00'",
        h=bytes(32),
    )
    return {9}


def plant_a_ticket_that_enrolled_nobody(made: Forged) -> set[int]:
    enrolment.invite(made.aggregator.context, NAME, "nobody", "client")
    made.execute("UPDATE tickets SET used_by = :k WHERE client = 'nobody'", k=bytes(32))
    return {9}


def plant_contributions_with_a_replaced_key(made: Forged) -> set[int]:
    party = made.parties[0]
    new = Ed25519PrivateKey.generate()
    change = SignedKeyChange.make(NAME, party.name, party.client.identity_key, new)
    leaf = KeyReplaced(federation=NAME, client=party.name, rotation=change, declared=None).encode()
    place = max(i for i, one in enumerate(made.aggregator.leaves()) if isinstance(one, RoundPlanned))
    made.relog(lambda leaves: [*leaves[:place], leaf, *leaves[place:]])
    # The clients are not the logged ones then, and later documents name checkpoints of the log as it was.
    return {4, 8, 11}


def plant_an_operator_without_a_ticket(made: Forged) -> set[int]:
    made.execute(
        "INSERT INTO staff (name, role, identity_key, key_id, enrolled_at) "
        "SELECT 'olga', 'operator', identity_key, 'olga', enrolled_at FROM clients WHERE client = 'client-00'"
    )
    return {9}


def plant_an_operators_ticket_that_enrolled_nobody(made: Forged) -> set[int]:
    staff.invite(made.aggregator.context, "olga", "operator")
    made.execute("UPDATE staff_tickets SET used_by = :k", k=bytes(32))
    return {9}


def plant_a_nonce_of_nobody(made: Forged) -> set[int]:
    made.execute("UPDATE nonces SET key_id = 'another' WHERE nonce = (SELECT min(nonce) FROM nonces)")
    return {10}


def plant_a_nonce_spent_twice(made: Forged) -> set[int]:
    # A table without its key, as a careless restore may leave it.
    for sql in (
        "CREATE TABLE spent AS SELECT * FROM nonces",
        "DROP TABLE nonces",
        "CREATE TABLE nonces AS SELECT * FROM spent",
        "INSERT INTO nonces SELECT * FROM spent WHERE nonce = (SELECT min(nonce) FROM spent)",
        "DROP TABLE spent",
    ):
        made.execute(sql)
    return {10}


def plant_a_changed_leaf(made: Forged) -> set[int]:
    (last, raw) = len(made.aggregator.raw_leaves()) - 1, made.aggregator.raw_leaves()[-1]
    made.execute('UPDATE log_leaves SET leaf = :d WHERE "index" = :i', d=raw.replace(b"}", b" }", 1), i=last)
    # It told of the cohort.
    return {4, 11}


def plant_a_shorter_log(made: Forged) -> set[int]:
    made.relog(lambda leaves: leaves[:-1])
    # The last leaf told of the cohort.
    return {4}


def plant_a_prior_that_was_not_opened(made: Forged) -> set[int]:
    record = made.aggregator.prior()
    other = record.model_copy(update={"theta": tuple(value + 0.1 for value in record.theta)})
    signed = Signed[PriorRecord].make(made.aggregator.context.keys.service(), other)

    def change(raw: bytes) -> bytes:
        leaf = entries.decode(raw)
        if isinstance(leaf, PriorPublished) and leaf.prior.message == record:
            return leaf.model_copy(update={"prior": signed}).encode()
        return raw

    made.relog(lambda leaves: [change(raw) for raw in leaves])
    made.execute("UPDATE priors SET document = :d WHERE version = :v", d=signed.encode(), v=record.version)
    # Later documents name checkpoints of the log as it was.
    return {11, 12}


def plant_a_contribution_without_void_proof(made: Forged) -> set[int]:
    party, plan = made.parties[2], made.aggregator.round(EMPTY).plan.message
    header = Header(
        federation=NAME, round=EMPTY, plan=plan.digest(), client=party.name, masked=bytes(32), boxes=bytes(32)
    )
    made.execute(
        "INSERT INTO contributions (federation, round, client, body_digest, header) VALUES (:f, :r, :c, :b, :h)",
        f=NAME,
        r=EMPTY,
        c=party.name,
        b=bytes(32),
        h=Signed[Header].make(party.client.identity_key, header).encode(),
    )
    return {14}


def plant_what_should_be_erased(made: Forged) -> set[int]:
    made.execute("UPDATE contributions SET masked = :m WHERE round = :r AND client = 'client-00'", m=bytes(24), r=VOID)
    return {15}


def plant_a_late_round(made: Forged) -> set[int]:
    made.aggregator.clock.forward(10_000)
    return {17}


PLANTS: list[Callable[[Forged], set[int]]] = [plant for name, plant in list(globals().items()) if name[:6] == "plant_"]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.removeprefix("plant_"))
def test_what_is_planted_is_found(made: Forged, plant: Callable[[Forged], set[int]]) -> None:
    expected = plant(made)
    assert made.numbers() == expected


def test_every_invariant_has_a_rule() -> None:
    assert INVARIANTS.keys() - checking.RULES.keys() == {12}
