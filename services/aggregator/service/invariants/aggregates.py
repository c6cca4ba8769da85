"""Invariants 1 to 3: what a round publishes is one aggregate, of the recorded cohort, of enough clients and members."""

from collections.abc import Iterator, Mapping

from aggregator.service.invariants.evidence import FORM_ERRORS, Evidence, Round
from aggregator.service.invariants.invariant import Violation
from fgpr.auditlog.entries import PriorPublished
from fgpr.errors import FgprError
from fgpr.federated.publication import PriorRecord
from fgpr.secagg import opening
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.groups import fewest_groups
from fgpr.secagg.messages import Cohort, Contribution
from fgpr.secagg.planning import committee_of


def check_single(found: Evidence) -> Iterator[Violation]:
    """1: at most one prior of each version and round, in table and log, and the same in both."""
    logged: dict[tuple[str, int], PriorRecord] = {}
    of_round: dict[tuple[str, int], set[int]] = {}
    for index, leaf in found.logged():
        if not isinstance(leaf, PriorPublished):
            continue
        record = leaf.prior.message
        key = record.federation, record.version
        if key in logged:
            yield Violation(
                1, f"prior {record.version} of {record.federation} is published twice, again by leaf {index}"
            )
        logged[key] = record
        stored = found.priors.get(key)
        if stored is not None and stored.encode() != leaf.prior.encode():
            yield Violation(1, f"prior {record.version} of {record.federation} is not the one that was published")
    for record in [*logged.values(), *(signed.message for signed in found.priors.values())]:
        if record.round is not None:
            of_round.setdefault((record.federation, record.round), set()).add(record.version)
    for (name, number), versions in of_round.items():
        if len(versions) > 1:
            yield Violation(1, f"round {number} of {name} published priors {', '.join(map(str, sorted(versions)))}")


def check_mean(found: Evidence) -> Iterator[Violation]:
    """2: each opened sum is of the recorded cohort; where journals show what its clients sent, it is their sum."""
    for signed in found.priors.values():
        record = signed.message
        round_ = found.rounds.get((record.federation, record.round or 0))
        if record.opened is None or round_ is None or round_.cohort is None:
            continue
        cohort = round_.cohort.message
        if record.opened.cohort != cohort.digest():
            yield Violation(2, f"prior {record.version} is the average of another cohort than that of {round_}")
        for member in cohort.members:
            stored = round_.contributions.get(member.client)
            if stored is None or stored.header.message.digest() != member.header:
                yield Violation(2, f"{round_} counted a contribution of {member.client} that is not the stored one")
        masked = _masked(found, round_)
        if cohort.clients() <= set(masked):
            yield from _recompute(round_, cohort, masked, record.opened.sum)


def _recompute(round_: Round, cohort: Cohort, masked: Mapping[str, bytes], published: bytes) -> Iterator[Violation]:
    digest = cohort.digest()
    opened = [signed.message for signed in round_.openings.values() if signed.message.cohort == digest]
    try:
        unmasked = opening.unmask(round_.plan.message, cohort, masked, opened)
    except FORM_ERRORS as error:
        yield Violation(2, f"the openings of {round_} and its clients' journals give no sum: {error}")
        return
    if FIELD.to_bytes(unmasked.vector) != published:
        yield Violation(2, f"{round_} published another sum than its openings and its clients' journals give")


def _masked(found: Evidence, round_: Round) -> dict[str, bytes]:
    """The masked vectors that journals hold of a round."""
    vectors = {}
    for journal in found.handed.journals:
        body = journal.contributions.get(round_.number)
        if journal.federation != round_.federation or body is None:
            continue
        try:
            vectors[journal.client] = Contribution.decode(body).masked
        except FgprError:
            # Invariant 14 tells of it.
            continue
    return vectors


def check_size(found: Evidence) -> Iterator[Violation]:
    """3: enough clients in each counted group, and enough openings of each published sum."""
    for round_ in found.rounds.values():
        if round_.cohort is None or round_.roster is None:
            continue
        plan, cohort = round_.plan.message, round_.cohort.message
        try:
            least = committee_of(plan, round_.roster).corrupt_group + 2
        except FgprError as error:
            yield Violation(3, f"{round_} has no safe committee: {error}")
            continue
        if plan.min_cohort < least:
            yield Violation(3, f"{round_} counts {plan.min_cohort} clients as enough; K + 2 is {least}")
        parts = [part for part in plan.parts(cohort.clients() & set(plan.invited)) if part]
        if len(parts) < fewest_groups(plan.groups) or any(len(part) < plan.min_cohort for part in parts):
            sizes = ", ".join(str(len(part)) for part in parts) or "0"
            yield Violation(3, f"the cohort of {round_} has {sizes} clients; {plan.min_cohort} are needed")
    for signed in found.priors.values():
        record = signed.message
        published = found.rounds.get((record.federation, record.round or 0))
        if record.opened is None or published is None:
            continue
        came = sum(one.message.cohort == record.opened.cohort for one in published.openings.values())
        if came < published.plan.message.threshold:
            yield Violation(
                3, f"{published} published with {came} openings; {published.plan.message.threshold} are needed"
            )
