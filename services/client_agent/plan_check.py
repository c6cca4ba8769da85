"""From the plan that the aggregator shows to a plan that this client takes: fetch what it names, check, record."""

from client_agent.agent import Agent
from fgpr.errors import PlanRefused, VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.secagg.checked_plan import CheckedPlan, LogView, NamedPrior, check_plan
from fgpr.secagg.messages import Plan

LOG_CHECK = 13
"""Number of the check of a plan that finds a log which does not continue the kept one."""


def check(agent: Agent, signed: Signed[Plan]) -> tuple[CheckedPlan, PriorRecord]:
    """Check a plan and write that it was seen; nothing else was done for it when this returns.

    Raises:
        PlanRefused: names the check that failed.
        OwnerConsentRequired: the owner has to allow one more carried round.
        VerificationError: the prior or the checkpoint is not signed by the aggregator.
    """
    plan = signed.message
    record = named_prior(agent, plan)
    roster = agent.federation.roster(plan.roster_version)
    # The kept one first: whatever is kept later by another process may be ahead of the one that is fetched now.
    history = agent.history()
    latest = agent.trail.newest()
    try:
        checked = check_plan(
            signed,
            client=agent.client,
            anchors=agent.membership.anchors(),
            roster=roster,
            prior=NamedPrior(record.version, record.theta_version, record.digest(), record.vector()),
            log=LogView(
                latest=latest,
                since_kept=agent.trail.proof(history.checkpoint, latest),
                since_plan=agent.trail.proof(plan.checkpoint, latest),
            ),
            history=history,
            floors=agent.floors,
        )
    except PlanRefused as error:
        if error.check == LOG_CHECK and history.checkpoint is not None:
            raise PlanRefused(LOG_CHECK, str(agent.trail.accusation(history.checkpoint, latest, str(error)))) from error
        raise
    agent.trail.follow(latest)
    agent.journal.record_plan(signed, roster)
    agent.retire_keys()
    return checked, record


def named_prior(agent: Agent, plan: Plan) -> PriorRecord:
    """The prior that a plan starts from; whether it is the named one is for the plan's checks.

    Raises:
        VerificationError: the aggregator did not sign it, or it is of another federation.
    """
    signed = agent.federation.prior(plan.prior_version).prior
    signed.verify(agent.membership.service_key)
    if signed.message.federation != agent.membership.federation:
        raise VerificationError(f"the prior is of federation {signed.message.federation}")
    return signed.message
