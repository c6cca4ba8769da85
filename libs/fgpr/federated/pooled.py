"""The exact optimum of the pooled objective sum_k L_k(theta) / N, the yardstick for federated averaging.

It needs every client's gradient at every step, so it is no protocol: it is for experiments on data at hand. With priors
the objective is (sum_k L_k - log p) / N.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.hyperprior import LogNormal, LogPrior
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.optimisers import Minimum, minimise

MAX_ITERATIONS = 500
GRADIENT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PooledOptimum:
    """The best theta found.

    Attributes:
        theta: in the wire order, inside the bounds.
        loss: sum_k L_k / N at theta, nats a point, without the prior.
        log_prior: log density of theta under the priors, nats in all; 0 where there are none.
        converged: the optimiser reached its tolerance.
        message: what the optimiser said.
        evaluations: how often the objective and its gradient were computed, over all starts.
        jitter: the largest that an evaluation needed, in units of the signal variance.
    """

    theta: Array
    loss: float
    log_prior: float
    converged: bool
    message: str
    evaluations: int
    jitter: float


def pooled_loss(likelihoods: Sequence[Likelihood], theta: npt.ArrayLike) -> float:
    """sum_k L_k(theta) / N in nats a point; raises as `Likelihood.value`."""
    return sum(likelihood.value(theta).nats for likelihood in likelihoods) / _points(likelihoods)


def optimise(
    likelihoods: Sequence[Likelihood],
    bounds: Bounds,
    starts: Sequence[npt.ArrayLike],
    priors: Sequence[LogNormal] = (),
    iterations: int = MAX_ITERATIONS,
) -> PooledOptimum:
    """Minimise the pooled objective within the bounds from each start, and keep the best.

    Args:
        likelihoods: one a client; they may share a workspace.
        bounds: of theta.
        starts: thetas to start from.
        priors: of hyper-parameters; their log density counts once.
        iterations: at most so many from each start.

    Raises:
        DataError: no likelihoods or no starts.
        EncodingError: a start outside the bounds, or a prior of what theta does not have.
        NumericalError: no start leads to a finite value.
    """
    points = _points(likelihoods)
    if not starts:
        raise DataError("no theta to start from")
    prior = LogPrior(priors, bounds.names)
    jitter = 0.0

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal jitter
        total, gradient = -prior.log_density(theta), -prior.gradient(theta)
        for likelihood in likelihoods:
            part = likelihood.value_and_gradient(theta)
            total += part.nats
            gradient += part.gradient
            jitter = max(jitter, part.jitter)
        return total / points, gradient / points

    best: Minimum | None = None
    evaluations = 0
    failure: NumericalError | None = None
    for start in starts:
        bounds.check(start)
        box = np.array(bounds.lower), np.array(bounds.upper)
        try:
            found = minimise(
                objective, np.array(start, dtype=np.float64), *box, iterations, tolerance=GRADIENT_TOLERANCE
            )
        except NumericalError as error:
            failure = error
            continue
        evaluations += found.evaluations
        if best is None or found.value < best.value:
            best = found
    if best is None:
        raise NumericalError(f"none of {len(starts)} starts leads to a finite value; the last one: {failure}")
    theta = bounds.clip(best.theta).theta
    log_prior = prior.log_density(theta)
    loss = best.value + log_prior / points
    return PooledOptimum(theta, loss, log_prior, best.converged, best.message, evaluations, jitter)


def _points(likelihoods: Sequence[Likelihood]) -> int:
    if not likelihoods:
        raise DataError("no clients: a pooled objective needs at least one")
    return sum(likelihood.rows for likelihood in likelihoods)
