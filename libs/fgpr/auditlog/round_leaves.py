"""What leaves about rounds have to hold to: plans, cohorts, aborted and void rounds, complaints, convictions."""

from collections.abc import Sequence
from itertools import product

from fgpr.auditlog import membership_leaves
from fgpr.auditlog.entries import (
    AnsweredOpening,
    CohortClosed,
    ComplaintFiled,
    Convicted,
    Leaf,
    RoundAborted,
    RoundPlanned,
    RoundVoid,
)
from fgpr.auditlog.planned import check_drawn, check_keys, check_roster, check_void_proofs
from fgpr.auditlog.positions import check_position
from fgpr.auditlog.trail import RoundKey, Trail, add, require
from fgpr.errors import VerificationError
from fgpr.secagg.complaint import check_complaint, convicted
from fgpr.secagg.groups import fewest_groups
from fgpr.secagg.member import check_difference
from fgpr.secagg.messages import Cohort, Plan
from fgpr.secagg.planning import committee_of
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import RUNNING, Event, Stage, after


def follow(trail: Trail, index: int, leaf: Leaf) -> None:
    """Check a leaf about a round and take it up.

    Raises:
        FgprError: it does not follow from those before it.
    """
    match leaf:
        case RoundPlanned():
            _follow_plan(trail, index, leaf)
        case CohortClosed():
            _follow_cohort(trail, index, leaf)
        case RoundAborted():
            _follow_abort(trail, index, leaf)
        case RoundVoid():
            _follow_void(trail, index, leaf)
        case ComplaintFiled():
            _follow_complaint(trail, index, leaf)
        case Convicted():
            _follow_conviction(trail, index, leaf)
        case _:
            raise VerificationError(f"a leaf of kind {leaf.kind} is about no round")


def round_of(trail: Trail, key: RoundKey) -> tuple[Plan, Roster]:
    """The plan of a round and the roster that it names.

    Raises:
        VerificationError: the round was never planned.
    """
    signed = trail.plans.get(key)
    if signed is None:
        raise VerificationError(f"round {key[1]} of {key[0]} was never planned")
    plan = signed.message
    return plan, trail.rosters[key[0], plan.roster_version].message


def move(trail: Trail, key: RoundKey, event: Event) -> None:
    """Move a round on, by the one transition table.

    Raises:
        IllegalTransition: it cannot go there from where it stands.
    """
    trail.stages[key] = after(trail.stages[key], event)


def check_openings(trail: Trail, key: RoundKey, answers: Sequence[AnsweredOpening]) -> None:
    """Check that openings are of distinct members with a seat, and as many as the plan asks for.

    Raises:
        VerificationError: they are not.
    """
    plan, _ = round_of(trail, key)
    names = [answer.client for answer in answers]
    require(len(set(names)) == len(names), "a member opened twice")
    seated = {seat.client for seat in plan.seats if seat.key is not None}
    strangers = sorted(set(names) - seated)
    require(not strangers, f"{', '.join(strangers)} opened without a seat")
    require(len(names) >= plan.threshold, f"{len(names)} openings, and {plan.threshold} are needed")


def _follow_plan(trail: Trail, index: int, leaf: RoundPlanned) -> None:
    name, plan = leaf.federation, leaf.plan.message
    require(plan.federation == name, f"the plan is one of {plan.federation}")
    leaf.plan.verify(trail.service_key)
    require(trail.states[name] == "open", f"round {plan.round} opens in a federation that is {trail.states[name]}")
    last = trail.newest_round(name)
    require(plan.round == last + 1, f"round {plan.round} follows round {last}")
    running = trail.stages.get((name, last)) in RUNNING
    require(not running, f"round {plan.round} opens while round {last} runs")
    prior = trail.newest_prior(name)
    named = plan.prior_version, plan.theta_version, plan.prior_digest
    known = None if prior is None else (prior.version, prior.theta_version, prior.digest())
    require(named == known, f"round {plan.round} does not start from the newest prior")
    check_roster(trail, plan)
    check_position(trail, index, plan.checkpoint)
    check_void_proofs(trail, plan)
    check_keys(trail, plan)
    check_drawn(trail, plan)
    trail.add_plan(leaf.plan)
    trail.steps[name, plan.round] = [(index, leaf.kind)]


def _follow_cohort(trail: Trail, index: int, leaf: CohortClosed) -> None:
    key, cohort = (leaf.federation, leaf.cohort.message.round), leaf.cohort.message
    plan, _ = round_of(trail, key)
    leaf.cohort.verify(trail.service_key)
    _check_plan_of(plan, cohort)
    check_position(trail, index, cohort.checkpoint, plan.checkpoint.size)
    _check_counted(trail, plan, cohort)
    _check_differences(trail, plan, cohort)
    move(trail, key, Event.CLOSED)
    trail.cohorts[key] = leaf.cohort
    trail.steps[key].append((index, leaf.kind))


def _check_counted(trail: Trail, plan: Plan, cohort: Cohort) -> None:
    names = [member.client for member in cohort.members]
    require(names == sorted(set(names)), "the cohort counts a client twice, or out of order")
    strangers = sorted(set(names) - set(plan.invited))
    require(not strangers, f"the cohort counts {', '.join(strangers)}, not invited")
    # Whatever checkpoint it names: with an older one than the last, a revocation could be gone back behind.
    gone = [one for one in names if (plan.federation, one) in trail.revoked]
    require(not gone, f"the cohort counts {', '.join(gone)}, revoked before it was closed")
    groups = [part for part in plan.parts(cohort.clients()) if part]
    fewest = min(map(len, groups), default=0)
    require(fewest >= plan.min_cohort, f"the cohort counts {fewest} clients together, and {plan.min_cohort} are needed")
    require(len(groups) >= fewest_groups(plan.groups), f"the cohort counts {len(groups)} of {plan.groups} groups")


def _check_differences(trail: Trail, plan: Plan, cohort: Cohort) -> None:
    """What a cohort and another one of the same theta differ by is a sum, too: a member's check 10, for all of them."""
    name = plan.federation
    for number in range(plan.round - 1, 0, -1):
        earlier, roster = round_of(trail, (name, number))
        if earlier.theta_version != plan.theta_version:
            return
        other = trail.cohorts.get((name, number))
        if other is None or trail.stages[name, number] is Stage.VOID:
            continue
        own = committee_of(plan, trail.rosters[name, plan.roster_version].message)
        least = max(own.corrupt_group, committee_of(earlier, roster).corrupt_group) + 2
        for part, opened in product(plan.parts(cohort.clients()), earlier.parts(other.message.clients())):
            if not set(part).isdisjoint(opened):
                check_difference(frozenset(part), frozenset(opened), least)


def _follow_abort(trail: Trail, index: int, leaf: RoundAborted) -> None:
    key, cohort = (leaf.federation, leaf.round), leaf.cohort.message
    plan, _ = round_of(trail, key)
    leaf.cohort.verify(trail.service_key)
    _check_plan_of(plan, cohort)
    check_position(trail, index, cohort.checkpoint, plan.checkpoint.size)
    require(not cohort.members, "an aborted round has a cohort of clients")
    early = trail.stages[key] is Stage.CONTRIBUTING
    move(trail, key, Event.TOO_FEW_CONTRIBUTIONS if early else Event.TOO_FEW_OPENINGS)
    trail.aborted[key] = leaf
    trail.steps[key].append((index, leaf.kind))


def _follow_void(trail: Trail, index: int, leaf: RoundVoid) -> None:
    key = leaf.federation, leaf.round
    check_openings(trail, key, leaf.openings)
    cosigned = [answer.client for answer in leaf.openings if answer.cosignature is not None]
    require(not cosigned, f"{', '.join(cosigned)} cosigned a checkpoint with the empty cohort")
    move(trail, key, Event.VOID_PROVEN)
    trail.void[key] = leaf
    trail.steps[key].append((index, leaf.kind))


def _follow_complaint(trail: Trail, index: int, leaf: ComplaintFiled) -> None:
    complaint = leaf.complaint.message
    key = leaf.federation, complaint.round
    plan, roster = round_of(trail, key)
    cohort = trail.cohorts.get(key)
    if cohort is None:
        raise VerificationError(f"a complaint of round {complaint.round}, which has no cohort")
    check_complaint(plan, roster, cohort.message, leaf.complaint)
    place = *key, complaint.client
    add(trail.complaints, place, leaf.complaint, f"the complaint of {complaint.client} in round {complaint.round}")
    trail.steps[key].append((index, leaf.kind))


def _follow_conviction(trail: Trail, index: int, leaf: Convicted) -> None:
    key = leaf.federation, leaf.round
    plan, roster = round_of(trail, key)
    filed = [one.message for place, one in trail.complaints.items() if place[:2] == key]
    proven = leaf.client in convicted(plan, roster, filed)
    require(proven, f"the complaints of round {leaf.round} do not convict {leaf.client}")
    membership_leaves.follow_revocation(trail, index, leaf.federation, leaf.client)
    trail.steps[key].append((index, leaf.kind))


def _check_plan_of(plan: Plan, cohort: Cohort) -> None:
    named = cohort.federation, cohort.round, cohort.plan
    require(
        named == (plan.federation, plan.round, plan.digest()), f"the cohort is not of the plan of round {plan.round}"
    )
