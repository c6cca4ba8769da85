"""What a plan in the log has to hold to: drawn from settings and roster in force, keys registered, proofs logged."""

from fgpr.auditlog.trail import Trail, require
from fgpr.secagg.messages import Plan
from fgpr.secagg.planning import plan_round
from fgpr.secagg.stages import Stage


def check_drawn(trail: Trail, plan: Plan) -> None:
    """Check that a plan is, in every field, what the federation's settings and the roster's nonce make of it.

    Left to the aggregator are the deadlines, the checkpoint, and which seats it leaves without a key.

    Raises:
        FgprError: it is not, or no safe plan can be made of them.
    """
    settings, fixed = trail.federations[plan.federation].settings, trail.fixed[plan.federation]
    prior = trail.priors[plan.federation, plan.prior_version][0].message
    drawn = plan_round(
        number=plan.round,
        rules=settings.aggregation,
        roster=trail.rosters[plan.federation, plan.roster_version].message,
        keys={seat.client: seat.key for seat in plan.seats if seat.key is not None},
        codec=fixed.codec,
        training=fixed.training,
        prior_version=prior.version,
        theta_version=prior.theta_version,
        prior_digest=prior.digest(),
        checkpoint=plan.checkpoint,
        void=plan.void,
        contribute_until=plan.contribute_until,
        open_until=plan.open_until,
        origin=prior.theta,
    )
    other = [name for name in type(plan).model_fields if getattr(plan, name) != getattr(drawn, name)]
    require(not other, f"round {plan.round} is not planned by the settings and the roster: {', '.join(other)}")


def check_roster(trail: Trail, plan: Plan) -> None:
    """Check that a plan draws from the roster in force: with several to choose from, its keeper could choose the draw.

    The newest one is in force; where theta is carried, that of the round before, until the operator releases it.

    Raises:
        VerificationError: it draws from another one, or from one that is not in the log.
    """
    name, prior = plan.federation, trail.newest_prior(plan.federation)
    in_force = trail.newest_roster(name)
    if prior is not None and prior.theta_version != prior.version and trail.released.get(name) != prior.version:
        in_force = trail.plans[name, trail.newest_round(name)].message.roster_version
    roster = trail.rosters.get((name, plan.roster_version))
    digest = None if roster is None else roster.message.digest()
    require(plan.roster_digest == digest, f"round {plan.round} names a roster that is not here")
    named = plan.roster_version
    require(named == in_force, f"round {plan.round} draws from roster {named}, and roster {in_force} is in force")


def check_keys(trail: Trail, plan: Plan) -> None:
    """Check that the opening keys in seats are their clients' own and were registered.

    Raises:
        VerificationError: one is not.
    """
    roster = trail.rosters[plan.federation, plan.roster_version].message
    for seat in plan.seats:
        if seat.key is None:
            continue
        key = seat.key.message
        registered = trail.opening_keys.get((plan.federation, seat.client), {}).get(key.serial)
        require(registered == key.digest(), f"the opening key in {seat.client}'s seat was never registered")
        seat.key.verify(roster.identity_key(seat.client))


def check_void_proofs(trail: Trail, plan: Plan) -> None:
    """Check that a plan proves exactly those rounds void that started from its prior and that the log knows as void.

    Raises:
        VerificationError: it does not.
    """
    wanted, past = set(), plan.round - 1
    while past and trail.plans[plan.federation, past].message.prior_version == plan.prior_version:
        if trail.stages[plan.federation, past] is Stage.VOID:
            wanted.add(past)
        past -= 1
    proven = {}
    for proof in plan.void:
        number = proof.cohort.message.round
        leaf, answers = trail.void.get((plan.federation, number)), {one.message.digest() for one in proof.openings}
        logged = leaf is not None and answers == {answer.opening for answer in leaf.openings}
        proven[number] = logged and proof.cohort == trail.aborted[plan.federation, number].cohort
    require(set(proven) == wanted, f"round {plan.round} proves other rounds void than those that are")
    require(all(proven.values()), f"round {plan.round} has a void proof that is not the logged one")
