"""Invariants 10, 11, 13 and 16: what others hold - nonces, checkpoints, receipts, ledgers - and the database agree."""

import hashlib
from collections import Counter
from collections.abc import Iterator

from aggregator.service.invariants.evidence import Evidence, Journal
from aggregator.service.invariants.invariant import Violation
from fgpr import merkle
from fgpr.secagg.messages import LogPosition


def check_nonces(found: Evidence) -> Iterator[Violation]:
    """10: each (key, nonce) is spent once, by a key that somebody holds or held."""
    spent = Counter((row["key_id"], row["nonce"]) for row in found.rows["nonces"])
    held = {
        row["key_id"] for table, rows in found.rows.items() if table != "nonces" for row in rows if row.get("key_id")
    }
    for (key, _), times in spent.items():
        if times > 1:
            yield Violation(10, f"a nonce of key {key} is spent {times} times")
    for key in sorted({key for key, _ in spent} - held):
        yield Violation(10, f"key {key}, which nobody holds, spent a nonce")


def check_checkpoints(found: Evidence) -> Iterator[Violation]:
    """11: the log begins as every signed document, every journal and every kept checkpoint say, and as kept leaves."""
    positions = list(_positions(found))
    wanted = {position.size for _, position in positions}
    roots, frontier = {}, merkle.Frontier.empty()
    if 0 in wanted:
        roots[0] = frontier.root()
    for raw in found.raw_leaves:
        frontier, _ = frontier.append(merkle.leaf_hash(raw))
        if frontier.size in wanted:
            roots[frontier.size] = frontier.root()
    for what, position in positions:
        if position.size not in roots:
            yield Violation(11, f"{what} counts {position.size} leaves, the log has {frontier.size}")
        elif roots[position.size] != position.root:
            yield Violation(11, f"the first {position.size} leaves are not those of {what}")
    for where, (start, leaves) in found.handed.leaves.items():
        if list(leaves) != found.raw_leaves[start : start + len(leaves)]:
            yield Violation(11, f"the leaves in {where}, from {start} on, are not those of the log")


def _positions(found: Evidence) -> Iterator[tuple[str, LogPosition]]:
    yield from ((f"the checkpoint in {where}", kept) for where, kept in found.handed.checkpoints.items())
    for journal in found.handed.journals:
        if journal.checkpoint is not None:
            yield f"the checkpoint in {journal.name}", journal.checkpoint
    for round_ in found.rounds.values():
        yield f"the plan of {round_}", round_.plan.message.checkpoint
        for cohort in (round_.cohort, round_.empty_cohort):
            if cohort is not None:
                yield f"the cohort of {round_}", cohort.message.checkpoint
    for signed in found.rosters.values():
        roster = signed.message
        yield f"roster {roster.version} of {roster.federation}", roster.checkpoint


def check_durable(found: Evidence) -> Iterator[Violation]:
    """13: enrolments, plans, cohorts and receipts that an agent has are in the database."""
    parties = {(row["federation"], row["client"]) for row in found.rows["clients"]}
    for journal in found.handed.journals:
        if journal.enrolled and (journal.federation, journal.client) not in parties:
            yield Violation(13, f"{journal.name}: {journal.client} is enrolled, which the database does not know")
        if journal.checkpoint is not None and journal.checkpoint.size > len(found.raw_leaves):
            yield Violation(
                13, f"{journal.name} saw {journal.checkpoint.size} leaves of the log, which has {len(found.raw_leaves)}"
            )
        for number, seen in journal.plans.items():
            round_ = found.rounds.get((journal.federation, number))
            if round_ is None or round_.plan.encode() != seen.plan.encode():
                yield Violation(13, f"{journal.name}: the plan of round {number} is not in the database")
        for number, answer in journal.openings.items():
            round_ = found.rounds.get((journal.federation, number))
            if round_ is None or round_.target(answer.cohort.message.digest()) is None:
                yield Violation(13, f"{journal.name}: the cohort of round {number} is not in the database")
        yield from _acknowledged(found, journal)


def _acknowledged(found: Evidence, journal: Journal) -> Iterator[Violation]:
    for receipt in journal.receipts:
        round_ = found.rounds.get((receipt.federation, receipt.round))
        stored: set[bytes] = set()
        if round_ is not None and receipt.client in round_.contributions:
            stored.add(round_.contributions[receipt.client].body_digest)
        if round_ is not None and receipt.client in round_.openings:
            stored.add(hashlib.sha256(round_.openings[receipt.client].encode()).digest())
        if round_ is not None and receipt.client in round_.complaints:
            stored.add(hashlib.sha256(round_.complaints[receipt.client].encode()).digest())
        if receipt.counted and receipt.body not in stored:
            yield Violation(
                13, f"{receipt.client} has a receipt for a body in round {receipt.round} that is not in the database"
            )


def check_charged(found: Evidence) -> Iterator[Violation]:
    """16: each contribution under differential privacy is charged in the ledger beside it."""
    for journal in found.handed.journals:
        for number in journal.contributions:
            seen = journal.plans.get(number)
            noised = seen is not None and seen.plan.message.differential_privacy is not None
            if noised and number not in journal.charged:
                yield Violation(16, f"{journal.name}: the contribution to round {number} is in no ledger")
