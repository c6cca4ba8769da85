"""Invariants 5, 6 and 14: one body for each client and stage, which holds as it did when it came."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from aggregator.service.invariants.evidence import FORM_ERRORS, Contribution, Evidence, Journal, Round
from aggregator.service.invariants.invariant import Violation
from fgpr.auditlog.entries import AnsweredOpening, PriorPublished, RoundVoid
from fgpr.errors import VerificationError
from fgpr.message import Signed
from fgpr.secagg import messages, opening
from fgpr.secagg.complaint import check_complaint
from fgpr.secagg.history import PastRound
from fgpr.secagg.messages import Complaint, Opening
from fgpr.secagg.roster import Roster
from fgpr.secagg.void_proof import is_proven_void
from fgpr.secagg.witnessing import check_cosignatures

Seen = tuple[str, str, int]
"""Federation, client and round."""


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
            checks.append((f"{client}'s opening", partial(_verify_opening, found, round_, client, answer)))
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


def _verify_opening(found: Evidence, round_: Round, client: str, signed: Signed[Opening]) -> None:
    _require(signed.message.client == client, f"it is {signed.message.client}'s")
    target = round_.target(signed.message.cohort)
    if target is None or round_.roster is None:
        raise VerificationError("it opens no cohort of this round")
    opening.check_opening(round_.plan.message, round_.roster, target, signed)
    check_cosignatures(round_.roster, target, [(client, signed.message.cosignature)], found.service_key)


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
    """6: a member opened one cohort a round, and of one prior only after void rounds: by rows, proofs and journals."""
    cohorts: dict[Seen, set[bytes]] = {}

    def see(answer: Opening) -> None:
        cohorts.setdefault((answer.federation, answer.client, answer.round), set()).add(answer.cohort)

    for round_ in found.rounds.values():
        for signed in round_.openings.values():
            see(signed.message)
        for proof in round_.plan.message.void:
            for signed in proof.openings:
                see(signed.message)
    for journal in found.handed.journals:
        for number, kept in journal.openings.items():
            key = journal.federation, journal.client, number
            cohorts.setdefault(key, set()).add(kept.cohort.message.digest())
    for (federation, client, number), opened in cohorts.items():
        if len(opened) > 1:
            yield Violation(6, f"{client} opened {len(opened)} cohorts of round {number} of {federation}")
    for client, earlier, later in _unproven(found, _opened(found), _opened(found)):
        yield Violation(6, f"{client} opened cohorts of {earlier} and {later}, which begin with one prior")


def check_contributions(found: Evidence) -> Iterator[Violation]:
    """14: what an agent wrote is what is stored, and it took no other plan of a prior version without a void proof."""
    for journal in found.handed.journals:
        for number, body in journal.contributions.items():
            yield from _same(found, journal, number, body)
    bound, taken = _opened(found), set()
    for round_ in found.rounds.values():
        bound |= {(round_.federation, client, round_.number) for client in round_.contributions}
    for journal in found.handed.journals:
        bound |= {(journal.federation, journal.client, number) for number in journal.contributions}
        taken |= {(journal.federation, journal.client, number) for number in journal.plans}
    for client, earlier, later in _unproven(found, bound, bound | taken):
        yield Violation(
            14, f"{client} took part in {earlier} and took the plan of {later}, of the same prior, without a void proof"
        )


def _opened(found: Evidence) -> set[Seen]:
    """Who opened a cohort that is not empty, of which round."""
    seen: set[Seen] = set()
    for round_ in found.rounds.values():
        cohort = None if round_.cohort is None else round_.cohort.message.digest()
        seen |= {
            (round_.federation, client, round_.number)
            for client, signed in round_.openings.items()
            if signed.message.cohort == cohort
        }
    for journal in found.handed.journals:
        seen |= {
            (journal.federation, journal.client, number)
            for number, kept in journal.openings.items()
            if kept.cohort.message.members
        }
    return seen


def _unproven(found: Evidence, bound: set[Seen], taken: set[Seen]) -> Iterator[tuple[str, Round, Round]]:
    """Client, a round of `bound`, and a later one of `taken` whose plan has the same prior and proves nothing."""
    rounds: dict[tuple[str, str], list[int]] = {}
    for federation, client, number in sorted(taken):
        rounds.setdefault((federation, client), []).append(number)
    # Hundreds of clients stand before the same two rounds.
    proven: dict[tuple[str, int, int], bool] = {}
    for federation, client, number in sorted(bound):
        for other in rounds.get((federation, client), ()):
            earlier, later = found.rounds.get((federation, number)), found.rounds.get((federation, other))
            if earlier is None or later is None or other <= number:
                continue
            key = federation, number, other
            if key not in proven:
                proven[key] = _goes_on(found, earlier, later)
            if not proven[key]:
                yield client, earlier, later


def _goes_on(found: Evidence, earlier: Round, later: Round) -> bool:
    if earlier.roster is None or later.plan.message.prior_version != earlier.plan.message.prior_version:
        return True
    past = PastRound(earlier.plan.message, earlier.roster, contributed=True)
    return is_proven_void(past, [later.plan.message], found.service_key)


def _same(found: Evidence, journal: Journal, number: int, body: bytes) -> Iterator[Violation]:
    round_ = found.rounds.get((journal.federation, number))
    stored = None if round_ is None else round_.contributions.get(journal.client)
    if stored is not None and stored.body_digest != hashlib.sha256(body).digest():
        yield Violation(14, f"{journal.name}: the contribution to {round_} is not the one that is stored")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)
