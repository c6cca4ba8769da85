"""Faults that only checkpoints, journals and keys from outside the database show."""

import dataclasses
import hashlib
from pathlib import Path

from aggregator.service import checking
from fgpr import canonical, signatures
from fgpr.journal import Answer
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg.messages import Cohort, LogPosition
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.aggregator import served, settings_of
from support.client import NAME
from support.forged_database import AGAIN, EMPTY, OPENING, VOID, Forged, journal_of


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


def test_a_member_that_opened_cohorts_of_two_rounds_of_one_prior_is_found(made: Forged) -> None:
    journal, later = made.journal(made.parties[0]), made.aggregator.round(OPENING)
    assert later.cohort is not None
    other = later.cohort.message.model_copy(update={"round": EMPTY})
    unknown = Answer(cohort=Signed[Cohort].make(made.aggregator.context.keys.service(), other), body=b"")
    kept = dict(journal.openings) | {OPENING: Answer(cohort=later.cohort, body=b"")}
    assert made.numbers(dataclasses.replace(journal, openings=kept)) == set()
    # The aggregator showed that cohort and does not know it, and the agent took the next plan all the same.
    assert made.numbers(dataclasses.replace(journal, openings=kept | {EMPTY: unknown})) == {6, 13, 14}


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
