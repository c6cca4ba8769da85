"""How a round closes and ends: each function is one transition, with its leaf, in the caller's transaction."""

from collections.abc import Iterable

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.service.federations import publish_prior
from aggregator.service.rounds import roster_of
from aggregator.storage import clients, contributions, federations, rounds
from aggregator.storage.engine import Connection
from aggregator.storage.rounds import RoundRow
from fgpr.auditlog.entries import AnsweredOpening, CohortClosed, PriorPublished, RoundAborted, RoundVoid
from fgpr.errors import OpeningsContradict, SumRefused
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.groups import fewest_groups
from fgpr.secagg.messages import Cohort, Opening, Plan, VoidProof
from fgpr.secagg.planning import committee_of
from fgpr.secagg.stages import Event, Stage, after


def close(context: Context, connection: Connection, row: RoundRow) -> None:
    """Fix the cohort, or abort where too few can be counted."""
    plan = row.plan.message
    revoked = clients.read_revoked(connection, row.federation)
    stored = contributions.read_headers(connection, row.federation, row.number)
    barred = revoked | _opened_elsewhere(connection, row)
    headers = {client: header for client, header in stored.items() if client not in barred}
    least = committee_of(plan, roster_of(connection, row)).corrupt_group + 2
    before = _opened_before(connection, row)
    cohort = opening.close(plan, plan.digest(), headers, audit.position(connection), before, least)
    if cohort is None:
        needed = f"{plan.min_cohort} are needed" if plan.groups == 1 else _needed_by_group(plan)
        reason = f"{len(headers)} contributions could be counted, {needed}"
        if before:
            reason += (
                "; an earlier sum from the same numbers may have been opened, so that only whoever was counted in it "
                f"is counted again: all of them, or at least {least} fewer"
            )
        abort(context, connection, row, Event.TOO_FEW_CONTRIBUTIONS, reason)
        return
    signed = Signed[Cohort].make(context.keys.service(), cohort)
    rounds.move(connection, row, after(row.stage, Event.CLOSED), cohort=signed.encode())
    audit.record(context, connection, [CohortClosed(federation=row.federation, cohort=signed)])


def publish(context: Context, connection: Connection, row: RoundRow, *, last_chance: bool) -> bool:
    """Unmask the sum and publish the next prior, or abort where it cannot be an honest average.

    Where the average leaves the trust region, the old theta is published as a new version, and the round is carried.

    Args:
        context: this process.
        connection: a writing transaction.
        row: a round in its opening stage.
        last_chance: no further opening will come.

    Returns:
        Whether the round moved; not where openings contradict each other and further ones may come.
    """
    plan, cohort = row.plan.message, row.cohort
    if cohort is None:
        raise SumRefused(f"round {row.number} has no cohort")
    masked = contributions.read_masked(connection, row.federation, row.number)
    answers = rounds.read_openings(connection, row.federation, row.number)
    try:
        opened = [signed.message for signed in answers.values()]
        unmasked = opening.unmask(plan, cohort.message, masked, opened, last_chance=last_chance)
    except SumRefused as error:
        if isinstance(error, OpeningsContradict) and not last_chance:
            return False
        abort(context, connection, row, Event.SUM_REFUSED, str(error))
        return True
    previous, _ = federations.read_prior(connection, row.federation, plan.prior_version)
    between = _plans_between(connection, previous.message, row)
    record = publication.averaged(previous.message, plan, plan.digest(), cohort.message, unmasked, between)
    event = Event.SUM_OPENED if record.reason == "averaged" else Event.STEP_REFUSED
    told = publication.step_refusal(previous.message, plan, unmasked.average)
    rounds.move(connection, row, after(row.stage, event), ended_at=context.clock(), reason=told)
    contributions.erase(connection, row.federation, row.number)
    leaf = PriorPublished(
        federation=row.federation,
        prior=Signed[PriorRecord].make(context.keys.service(), record),
        openings=_digests(answers.values()),
        spare=unmasked.spare,
        disputed=unmasked.disputed,
    )
    publish_prior(context, connection, leaf)
    return True


def abort(context: Context, connection: Connection, row: RoundRow, event: Event, reason: str) -> None:
    """End a round without a prior; its members may now prove it void."""
    plan = row.plan.message
    empty = opening.cohort_of(plan, plan.digest(), {}, audit.position(connection))
    signed = Signed[Cohort].make(context.keys.service(), empty)
    rounds.move(
        connection,
        row,
        after(row.stage, event),
        empty_cohort=signed.encode(),
        ended_at=context.clock(),
        reason=reason,
    )
    contributions.erase(connection, row.federation, row.number)
    leaf = RoundAborted(federation=row.federation, round=row.number, reason=reason, cohort=signed)
    audit.record(context, connection, [leaf])


def settle_void(context: Context, connection: Connection, row: RoundRow) -> None:
    """Enough members opened the empty cohort: the same prior may serve another round."""
    answers = void_openings(connection, row)
    rounds.move(connection, row, after(row.stage, Event.VOID_PROVEN))
    leaf = RoundVoid(federation=row.federation, round=row.number, openings=_digests(answers))
    audit.record(context, connection, [leaf])


def settle_carried(context: Context, connection: Connection, row: RoundRow) -> None:
    """The round may have been opened in secret: publish the old theta as a new version."""
    previous, _ = federations.read_prior(connection, row.federation, row.plan.message.prior_version)
    since = [*_plans_between(connection, previous.message, row), row.plan.message]
    record = publication.carried(previous.message, row.number, since)
    rounds.move(connection, row, after(row.stage, Event.VOID_TIMED_OUT))
    prior = Signed[PriorRecord].make(context.keys.service(), record)
    publish_prior(context, connection, PriorPublished(federation=row.federation, prior=prior))


def void_openings(connection: Connection, row: RoundRow) -> list[Signed[Opening]]:
    """The openings of an aborted round's empty cohort."""
    if row.empty_cohort is None:
        return []
    digest = row.empty_cohort.message.digest()
    answers = rounds.read_openings(connection, row.federation, row.number)
    return [signed for signed in answers.values() if signed.message.cohort == digest]


def void_proofs(connection: Connection, federation: str, prior_version: int) -> list[VoidProof]:
    """Proofs of every void round that started from this prior version."""
    return [
        VoidProof(cohort=row.empty_cohort, openings=tuple(void_openings(connection, row)))
        for row in rounds.read_in_stage(connection, federation, [Stage.VOID])
        if row.plan.message.prior_version == prior_version and row.empty_cohort is not None
    ]


def _plans_between(connection: Connection, previous: PriorRecord, row: RoundRow) -> list[Plan]:
    """Plans of the rounds after that of `previous` and before this one: what they cost in privacy counts."""
    if row.plan.message.differential_privacy is None:
        return []
    numbers = range((previous.round or 0) + 1, row.number)
    return [rounds.read(connection, row.federation, number).plan.message for number in numbers]


def _carried_cohorts(connection: Connection, row: RoundRow) -> list[tuple[int, frozenset[str]]]:
    """Roster version and clients of each cohort of this theta that was opened, or may have been (a carried round)."""
    theta_version = row.plan.message.theta_version
    return [
        (earlier.plan.message.roster_version, earlier.cohort.message.clients())
        for earlier in rounds.read_in_stage(connection, row.federation, [Stage.CARRIED])
        if earlier.cohort is not None and earlier.plan.message.theta_version == theta_version
    ]


def _opened_before(connection: Connection, row: RoundRow) -> list[frozenset[str]]:
    """Cohorts under this roster that may have been opened for the same theta: what differs from them is limited."""
    version = row.plan.message.roster_version
    return [cohort for roster, cohort in _carried_cohorts(connection, row) if roster == version]


def _opened_elsewhere(connection: Connection, row: RoundRow) -> set[str]:
    """Clients of such cohorts under a roster that the operator gave up: not one of them may be counted twice."""
    version = row.plan.message.roster_version
    cohorts = [cohort for roster, cohort in _carried_cohorts(connection, row) if roster != version]
    return set().union(*cohorts)


def _needed_by_group(plan: Plan) -> str:
    return f"{plan.min_cohort} are needed in each of {fewest_groups(plan.groups)} of the {plan.groups} groups"


def _digests(openings: Iterable[Signed[Opening]]) -> tuple[AnsweredOpening, ...]:
    return tuple(
        AnsweredOpening(
            client=signed.message.client, opening=signed.message.digest(), cosignature=signed.message.cosignature
        )
        for signed in openings
    )
