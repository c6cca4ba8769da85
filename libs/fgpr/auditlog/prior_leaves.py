"""What leaves of priors have to hold to: each follows from the one before it, its plan, its cohort and its sum."""

from fgpr.auditlog.entries import PriorPublished
from fgpr.auditlog.round_leaves import check_openings, move, round_of
from fgpr.auditlog.trail import Trail, Witnessed, require
from fgpr.errors import VerificationError
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord, verify_cost, verify_recomputed
from fgpr.secagg.messages import Plan
from fgpr.secagg.stages import Event
from fgpr.secagg.witnessing import check_cosignatures

_ENDS = {"averaged": Event.SUM_OPENED, "kept": Event.STEP_REFUSED, "carried": Event.VOID_TIMED_OUT}


def follow_prior(trail: Trail, index: int, leaf: PriorPublished) -> None:
    """Check a prior and take it up.

    Raises:
        FgprError: it does not follow from what stands before it.
    """
    name, record = leaf.federation, leaf.prior.message
    require(record.federation == name, f"the prior is one of {record.federation}")
    leaf.prior.verify(trail.service_key)
    before = trail.newest_prior(name)
    following = 0 if before is None else before.version + 1
    require(record.version == following, f"prior {record.version} stands where {following} comes next")
    if before is None:
        first = publication.initial(name, trail.federations[name].settings.spec())
        require(record == first, "the first prior is not that of the settings")
    else:
        _check_successor(trail, record, before)
        key = name, record.round or 0
        move(trail, key, _ENDS[record.reason])
        trail.steps[key].append((index, leaf.kind))
    if record.opened is None:
        require((leaf.openings, leaf.spare, leaf.disputed) == ((), 0, ()), "a prior without a sum names openings")
    else:
        _check_opened(trail, index, leaf)
    trail.add_prior(leaf, index)


def _check_successor(trail: Trail, record: PriorRecord, before: PriorRecord) -> None:
    name, number = record.federation, record.round
    require(record.spec == before.spec, f"prior {record.version} changes the model")
    # Only a first version says so, and only of no round.
    require(number is not None, f"prior {record.version} comes from no round")
    plan, _ = round_of(trail, (name, number or 0))
    require(plan.prior_version == before.version, f"round {number} did not start from prior {before.version}")
    if record.reason in ("carried", "kept"):
        same = (record.theta, record.theta_version) == (before.theta, before.theta_version)
        require(same, f"a {record.reason} prior changes theta")
    verify_cost(record, before, _plans_between(trail, before, record))
    if record.opened is not None:
        cohort = trail.cohorts.get((name, number or 0))
        if cohort is None:
            raise VerificationError(f"round {number} published a sum without a cohort")
        verify_recomputed(record, plan, cohort.message, before)


def _check_opened(trail: Trail, index: int, leaf: PriorPublished) -> None:
    key = leaf.federation, leaf.prior.message.round or 0
    plan, roster = round_of(trail, key)
    cohort = trail.cohorts[key].message
    check_openings(trail, key, leaf.openings)
    spare = len(leaf.openings) - plan.threshold
    require(leaf.spare == spare, f"{leaf.spare} openings are called spare, there were {spare}")
    names = tuple(answer.client for answer in leaf.openings)
    require(set(leaf.disputed) <= set(names), "a member is disputed that did not open")
    cosigned = [(answer.client, answer.cosignature) for answer in leaf.openings]
    check_cosignatures(roster, cohort, cosigned, trail.service_key)
    trail.witnessed.append(Witnessed(cohort.checkpoint, key, tuple(sorted(names)), index))


def _plans_between(trail: Trail, previous: PriorRecord, record: PriorRecord) -> list[Plan]:
    """Plans of the rounds after that of `previous`, up to that of `record`."""
    numbers = range((previous.round or 0) + 1, (record.round or 0) + 1)
    return [trail.plans[record.federation, number].message for number in numbers]
