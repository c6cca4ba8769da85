"""Each invariant: one fault is planted in a real database, and found; without it nothing is."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aggregator.service import checking, enrolment
from aggregator.service.invariants.invariant import INVARIANTS
from conftest import DATABASES
from fgpr import canonical, signatures
from fgpr.auditlog import entries
from fgpr.auditlog.entries import PriorPublished
from fgpr.federated.publication import PriorRecord
from fgpr.journal import Answer
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg.messages import Cohort, Header, LogPosition, Opening
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.aggregator import served, settings_of
from support.client import NAME
from support.databases import migrated_sqlite
from support.forged_database import AGAIN, EMPTY, OPENING, PUBLISHED, VOID, Forged, forged, journal_of
from support.postgres import Postgres
from support.replicas import Snapshot

Run = tuple[Forged, Snapshot]

HEADER = "SELECT header FROM contributions WHERE round = :r AND client = :c"
SET_HEADER = "UPDATE contributions SET header = :d WHERE round = :r AND client = :c"


@pytest.fixture(scope="module", params=DATABASES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        with forged(folder, migrated_sqlite(folder / "fgpr.db")) as made:
            yield made
        return
    server: Postgres = request.getfixturevalue("postgresql")
    with server.database() as url, forged(folder, url) as made:
        yield made


@pytest.fixture
def made(run: Run) -> Iterator[Forged]:
    found, snapshot = run
    now = found.aggregator.clock.now
    yield found
    found.aggregator.clock.now = now
    snapshot.restore(found.database)


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


# What only others' files can show.


def test_a_sum_that_its_clients_did_not_send_is_found(made: Forged) -> None:
    journals = [made.journal(party) for party in made.parties]
    body = canonical.parse(journals[0].contributions[AGAIN])
    words = bytearray(canonical.from_text(body["masked"]))
    words[0] ^= 1
    body["masked"] = canonical.to_text(bytes(words))
    changed = dict(journals[0].contributions) | {AGAIN: canonical.encode(body)}
    # The stored body is another one than that agent's, too.
    assert made.numbers(dataclasses.replace(journals[0], contributions=changed), *journals[1:]) == {2, 14}


def test_a_member_that_opened_two_cohorts_is_found(made: Forged) -> None:
    journal, aborted = made.journal(made.parties[0]), made.aggregator.round(VOID)
    assert aborted.empty_cohort is not None
    both = dict(journal.openings) | {VOID: Answer(cohort=aborted.empty_cohort, body=journal.openings[VOID].body)}
    assert made.numbers(dataclasses.replace(journal, openings=both)) == {6}


def test_a_log_that_does_not_continue_what_was_kept_is_found(made: Forged) -> None:
    size = len(made.aggregator.raw_leaves())
    fork, longer = LogPosition(size=5, root=bytes(32)), LogPosition(size=size + 1, root=bytes(32))
    for kept in (fork, longer):
        assert made.numbers(checkpoints={"kept": kept}) == {11}
    # An agent that saw more leaves than there are saw them acknowledged.
    assert made.numbers(made.journal(made.parties[0], checkpoint=longer)) == {11, 13}
    leaves = made.aggregator.raw_leaves()
    assert made.numbers(leaves={"page": (3, leaves[3:7])}) == set()
    assert made.numbers(leaves={"page": (3, leaves[4:7])}) == {11}


def test_a_lost_acknowledgement_is_found(made: Forged) -> None:
    party = made.parties[3]
    body = made.journal(party).contributions[OPENING]
    receipt = Receipt(
        federation=NAME, round=OPENING, client=party.name, body=hashlib.sha256(body).digest(), counted=True
    )
    journal = made.journal(party, receipts=[receipt])
    assert made.numbers(journal) == set()
    made.execute("DELETE FROM contributions WHERE round = :r AND client = :c", r=OPENING, c=party.name)
    assert made.numbers(journal) == {13}


def test_an_agent_that_nobody_knows_is_found(made: Forged) -> None:
    assert made.numbers(made.journal(made.parties[0], client="another", contributions={}, openings={})) == {13}
    plans = made.journal(made.parties[0]).plans
    assert made.numbers(made.journal(made.parties[0], plans={9: plans[1]})) == {13}
    unknown = Signed[Cohort].make(
        made.aggregator.context.keys.service(),
        Cohort(federation=NAME, round=1, plan=bytes(32), checkpoint=LogPosition(size=0, root=bytes(32)), members=()),
    )
    # It opened that beside the one that is stored.
    assert made.numbers(made.journal(made.parties[0], openings={1: Answer(cohort=unknown, body=b"")})) == {6, 13}


def test_another_body_than_the_agent_wrote_is_found(made: Forged) -> None:
    assert made.numbers(made.journal(made.parties[0], contributions={VOID: b"{}"})) == {14}


def test_a_private_key_in_the_database_is_found(made: Forged) -> None:
    secret = made.aggregator.context.keys.service().private_bytes_raw()
    assert made.numbers(secrets={"the service key": secret}) == set()
    for spelling in (secret.hex(), canonical.to_text(secret), canonical.to_text(secret).rstrip("=")):
        made.execute("UPDATE rounds SET reason = :t WHERE number = :r", t=f"key {spelling} is here", r=EMPTY)
        assert made.numbers(secrets={"the service key": secret}) == {15}


def test_a_contribution_that_the_ledger_does_not_know_is_found(tmp_path: Path, database_url: str) -> None:
    rules = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=2.0, delta=1e-6))
    with served(tmp_path, settings_of(rules=rules), keeps_deadlines=False, url=database_url) as aggregator:
        party, *_ = aggregator.enrol(5)
        aggregator.advance()
        party.contribute(aggregator.prior().vector(), 50)
        made = Forged(aggregator, [party])
        assert made.numbers(journal_of(aggregator, party, charged=frozenset({1}))) == set()
        assert made.numbers(journal_of(aggregator, party)) == {16}


def test_the_roster_key_that_is_known_from_outside_counts(made: Forged) -> None:
    other = signatures.public_bytes(made.parties[0].client.identity_key)
    anchors = made.aggregator.anchors()
    found = checking.check(made.database, made.aggregator.clock(), anchors.service_key, {NAME: other})
    assert [violation.number for violation in found] == [7]
    assert "leaf" in found[0].what


def test_every_invariant_has_a_rule() -> None:
    assert INVARIANTS.keys() - checking.RULES.keys() == {12}
