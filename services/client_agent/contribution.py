"""A client's part in a round's first stage: train on its own rows, mask, write the one body."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from client_agent import local_data, plan_check
from client_agent.agent import Agent
from client_agent.local_data import Source
from fgpr.errors import PlanRefused
from fgpr.federated.publication import PriorRecord
from fgpr.gp.local_training import LocalUpdate, train
from fgpr.gp.training_settings import TrainingSettings
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.contributor import Contributed, contribute
from fgpr.secagg.floor_checks import check_again

Observer = Callable[[np.ndarray, int], None]
"""Sees theta_k and n_k before they are masked. For demonstrations on one machine; nothing outside reaches it."""


@dataclass(frozen=True)
class Made:
    """A contribution that is written and not yet sent.

    Attributes:
        contributed: the body, and what its encoding changed.
        update: the local training; stays here.
        unit: rows that are worth a weight of 1, where the federation counts in classes.
    """

    contributed: Contributed
    update: LocalUpdate
    unit: int | None = None

    def describe(self) -> str:
        """What its owner is told: rows, loss before the first and the last step, their weight, what was cut off."""
        losses = self.update.losses
        steps = f"what {self.update.observations} rows taught in {len(losses)} steps"
        parts = [f"{steps}: {losses[0]:.4g} nats a row before the first, {losses[-1]:.4g} before the last"]
        clipped = sorted({*self.update.clipped, *self.contributed.saturated})
        if clipped:
            parts.append(f"at its bound: {', '.join(clipped)}")
        if self.update.uninformed:
            parts.append(f"left as it was sent, since these rows do not inform it: {', '.join(self.update.uninformed)}")
        if self.unit is not None:
            parts.append(f"counted with weight {self.contributed.weight}, in powers of two of {self.unit} rows")
        if self.contributed.shrunk:
            parts.append("its step was longer than the clip, and was shrunk to it")
        if self.contributed.weight_capped:
            parts.append("fewer rows counted than there are: the federation caps weights")
        return "; ".join(parts)


def make(
    agent: Agent,
    checked: CheckedPlan,
    record: PriorRecord | None,
    source: Source,
    target: str | None,
    observer: Observer | None,
) -> Made:
    """Train from the plan's prior, mask the result, and write it to the journal.

    Adam starts anew in each round, as every client does; a decaying rate runs on over rounds: its first step in this
    one is the prior's version times the steps of a round, so that a void round, which changed nothing, is not counted.

    Args:
        agent: whose contribution.
        checked: the newest plan that it checked.
        record: the plan's prior; fetched where it is None.
        source: its rows.
        target: the column of the target, where it has another name than in the model.
        observer: sees the update.

    Raises:
        PlanRefused: a later plan was checked, the prior is not the named one, the round does not fit the budget, or it
            is below a floor that was raised since.
        OwnerConsentRequired: the same of carried rounds.
        DataError: the rows cannot be used, or nothing can be learned from them.
        NumericalError: training has no finite result.
        EncodingError: the plan's training settings or the prior's model do not have their form.
    """
    plan = checked.plan
    if plan.round != agent.journal.last_round:
        raise PlanRefused(2, f"round {agent.journal.last_round} was seen: round {plan.round} gets no contribution")
    # A plan that was checked before a restart is recalled, and the owner may have raised a floor in between.
    check_again(plan, checked.roster, checked.codec, agent.client, agent.floors)
    agent.journal.check_budget(plan, agent.budget)
    if record is None:
        record = plan_check.named_prior(agent, plan)
    if record.digest() != plan.prior_digest:
        raise PlanRefused(5, "the prior's digest is not the named one")
    prior = record.prior()
    settings = TrainingSettings.from_json(plan.training)
    rows = local_data.arrange(prior.spec, local_data.read(source, prior.spec), target)
    update = train(
        prior.spec.correlation,
        rows.X,
        rows.y,
        prior.theta,
        settings,
        prior.spec.bounds,
        agent.rng,
        first_step=plan.prior_version * settings.local_steps(rows.y.size),
        priors=prior.spec.priors,
        clients=len(plan.invited),
    )
    if observer is not None:
        observer(update.theta, update.observations)
    contributed = contribute(
        checked, agent.client, agent.identity_key, update.theta, update.observations, agent.random_bytes
    )
    agent.journal.write_contribution(plan.round, contributed.contribution.encode())
    return Made(contributed, update, plan.weight_unit)
