"""Invariants 5, 6 and 14: one body for each client and stage, which holds as it did when it came."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise

from aggregator.service.invariants.evidence import FORM_ERRORS, Contribution, Evidence, Journal, Round
from aggregator.service.invariants.invariant import Violation
from fgpr.auditlog.entries import AnsweredOpening, PriorPublished, RoundVoid
from fgpr.errors import FgprError, VerificationError
from fgpr.message import Signed
from fgpr.secagg import messages, opening
from fgpr.secagg.complaint import check_complaint
from fgpr.secagg.history import PastRound
from fgpr.secagg.messages import Complaint, Opening
from fgpr.secagg.roster import Roster
from fgpr.secagg.void_proof import verify_void


def check_bodies(found: Evidence) -> Iterator[Violation]:
    """5: every stored body holds under plan and roster, and the log names the openings that it counted."""
    for round_ in found.rounds.values():
        roster = round_.roster
        if roster is None:
            yield Violation(5, f"the roster that {round_} names is not in the database")
            continue
        checks: list[tuple[str, Callable[[], None]]] = []
        for client, stored in round_.contributions.items():
            checks.append((f"{client}'s contribution", partial(_verify_contribution, round_, roster, client, stored)))
        for client, answer in round_.openings.items():
            checks.append((f"{client}'s opening", partial(_verify_opening, round_, roster, client, answer)))
        for client, complaint in round_.complaints.items():
            checks.append((f"{client}'s complaint", partial(_verify_complaint, round_, roster, client, complaint)))
        for what, check in checks:
            try:
                check()
            except FORM_ERRORS as error:
                yield Violation(5, f"{what} in {round_} does not hold: {error}")
    for _, leaf in found.logged():
        match leaf:
            case RoundVoid(openings=answers):
                yield from _counted(found, leaf.federation, leaf.round, answers)
            case PriorPublished(openings=answers, prior=prior) if prior.message.round is not None:
                yield from _counted(found, leaf.federation, prior.message.round, answers)


def _verify_contribution(round_: Round, roster: Roster, client: str, stored: Contribution) -> None:
    header, plan = stored.header.message, round_.plan.message
    _require(header.client == client, f"it is {header.client}'s")
    if stored.masked is not None and stored.boxes is not None:
        body = messages.Contribution(header=stored.header, masked=stored.masked, boxes=stored.boxes)
        opening.check_contribution(plan, plan.digest(), roster, body)
        _require(hashlib.sha256(body.encode()).digest() == stored.body_digest, "its digest is another body's")
        return
    named = header.federation, header.round, header.plan
    _require(named == (plan.federation, plan.round, plan.digest()), "it is of another plan")
    stored.header.verify(roster.identity_key(client))


def _verify_opening(round_: Round, roster: Roster, client: str, signed: Signed[Opening]) -> None:
    _require(signed.message.client == client, f"it is {signed.message.client}'s")
    target = round_.target(signed.message.cohort)
    if target is None:
        raise VerificationError("it opens no cohort of this round")
    opening.check_opening(round_.plan.message, roster, target, signed)


def _verify_complaint(round_: Round, roster: Roster, client: str, signed: Signed[Complaint]) -> None:
    _require(signed.message.client == client, f"it is {signed.message.client}'s")
    if round_.cohort is None:
        raise VerificationError("the round has no cohort")
    check_complaint(round_.plan.message, roster, round_.cohort.message, signed)
    answer = round_.openings.get(client)
    _require(answer is None or answer.message.cohort != signed.message.cohort, "its member opened the cohort, too")


def _counted(found: Evidence, federation: str, number: int, answers: Iterable[AnsweredOpening]) -> Iterator[Violation]:
    round_ = found.rounds.get((federation, number))
    if round_ is None:
        return
    for answer in answers:
        stored = round_.openings.get(answer.client)
        if stored is None or stored.message.digest() != answer.opening:
            yield Violation(5, f"the log counts an opening by {answer.client} in {round_} that is not the stored one")


def check_openings(found: Evidence) -> Iterator[Violation]:
    """6: all that is known of what a member opened in a round names one cohort: rows, void proofs, its journal."""
    opened: dict[tuple[str, int, str], set[bytes]] = {}

    def see(answer: Opening) -> None:
        opened.setdefault((answer.federation, answer.round, answer.client), set()).add(answer.cohort)

    for round_ in found.rounds.values():
        for signed in round_.openings.values():
            see(signed.message)
        for proof in round_.plan.message.void:
            for signed in proof.openings:
                see(signed.message)
    for journal in found.handed.journals:
        for number, kept in journal.openings.items():
            key = journal.federation, number, journal.client
            opened.setdefault(key, set()).add(kept.cohort.message.digest())
    for (federation, number, client), cohorts in opened.items():
        if len(cohorts) > 1:
            yield Violation(6, f"{client} opened {len(cohorts)} cohorts of round {number} of {federation}")


def check_contributions(found: Evidence) -> Iterator[Violation]:
    """14: what an agent wrote is what is stored, and a second contribution for a prior version has a void proof."""
    for journal in found.handed.journals:
        for number, body in journal.contributions.items():
            yield from _same(found, journal, number, body)
    by_client: dict[tuple[str, str], list[Round]] = {}
    for _, round_ in sorted(found.rounds.items()):
        for client in round_.contributions:
            by_client.setdefault((round_.federation, client), []).append(round_)
    for (_, client), rounds in by_client.items():
        for earlier, later in pairwise(rounds):
            if earlier.plan.message.prior_version != later.plan.message.prior_version or earlier.roster is None:
                continue
            past = PastRound(earlier.plan.message, earlier.roster, contributed=True)
            try:
                verify_void(past, later.plan.message.void, found.service_key)
            except FgprError as error:
                yield Violation(14, f"{client} contributed to {earlier} and, for the same prior, to {later}: {error}")


def _same(found: Evidence, journal: Journal, number: int, body: bytes) -> Iterator[Violation]:
    round_ = found.rounds.get((journal.federation, number))
    stored = None if round_ is None else round_.contributions.get(journal.client)
    if stored is not None and stored.body_digest != hashlib.sha256(body).digest():
        yield Violation(14, f"{journal.name}: the contribution to {round_} is not the one that is stored")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)
