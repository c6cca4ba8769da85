"""A kernel chosen by federated evidence: several models trained side by side, and the one that explains all rows best.

Evidence of a model is a sum over clients, one number of each: its negative log marginal likelihood at the theta that
the federation learned for this model (Rasmussen & Williams 2006, section 5.4.1), or minus the log density of each of
its rows given the others (section 5.4.2, eq. (5.10) to (5.12)). A federation can add them up as it adds thetas.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fgpr.errors import DataError
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.model import ModelSpec
from fgpr.gp.posterior import condition
from fgpr.gp.residuals import leave_one_out

Clients = Sequence[LocalData]
Evidence = Literal["likelihood", "leave-one-out"]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What a federation learned.

    Attributes:
        spec: the model.
        theta: the shared hyper-parameters, in the wire order, shape (L,).
        loss: sum_k L_k / N at theta, nats a point.
    """

    spec: ModelSpec
    theta: Array
    loss: float


Learn = Callable[[ModelSpec, Clients], Learned]
"""A way to learn theta of one model: averaged rounds, or the exact optimum."""


def chosen(specs: Sequence[ModelSpec], clients: Clients, learn: Learn, evidence: Evidence = "likelihood") -> Learned:
    """Learn each model, and keep the one with the best evidence.

    Args:
        specs: the menu; models that differ in their kernels.
        clients: whose rows count.
        learn: learns theta of a model.
        evidence: "likelihood", which believes the model's noise and kernel, or "leave-one-out", which asks for
            predictions and is the safer one where no kernel of the menu is right.

    Raises:
        DataError: no models, or another kind of evidence.
    """
    if not specs:
        raise DataError("no models to choose from")
    if evidence not in ("likelihood", "leave-one-out"):
        raise DataError(f"evidence is {evidence!r}: expected 'likelihood' or 'leave-one-out'")
    candidates = [learn(spec, clients) for spec in specs]
    if evidence == "likelihood":
        return min(candidates, key=lambda one: one.loss)
    losses = [leave_one_out_loss(one, clients) for one in candidates]
    return candidates[int(np.argmin(losses))]


def leave_one_out_loss(learned: Learned, clients: Clients) -> float:
    """Minus the mean log predictive density of each row given its client's others, nats a point.

    Raises:
        DataError: no clients.
        NumericalError: a client's covariance cannot be factorised.
    """
    if not clients:
        raise DataError("no clients: evidence needs rows")
    kernel, total = learned.spec.correlation, 0.0
    for client in clients:
        total -= float(leave_one_out(condition(kernel, learned.theta, client.X, client.y)).log_density.sum())
    return total / sum(client.y.size for client in clients)


def likelihoods_of(spec: ModelSpec, clients: Clients) -> list[Likelihood]:
    """One a client, with one workspace for all."""
    workspace = Workspace()
    return [Likelihood(spec.correlation, client.X, client.y, workspace) for client in clients]
