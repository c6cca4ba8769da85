"""A client's part of a round: E steps from the broadcast theta on its own data.

Algorithm 2 of the FGPR paper (Yue & Kontar). The loss is the negative log marginal likelihood of the batch divided by
the batch size, so that clients weighted by their number of rows sum up to a loss per point. A client that cannot learn
anything refuses; a hyper-parameter that its data do not inform (`fgpr.gp.informed`) stays where the broadcast put it,
so that it counts in the average as no change and not as a bound.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.arrays import Array, inputs, targets
from fgpr.gp.batches import Rows, draw, epochs
from fgpr.gp.hyperparameters import NOISE, Bounds
from fgpr.gp.hyperprior import LogNormal, LogPrior
from fgpr.gp.informed import uninformed
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.optimisers import Adam, Optimiser, Sgd, limited, minimise, start
from fgpr.gp.training_settings import TrainingSettings

MIN_ROWS = 4
"""Fewer rows say next to nothing of any hyper-parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalUpdate:
    """What a client has after its local steps.

    Attributes:
        theta: theta_k, in the wire order, inside the bounds.
        observations: n_k, the rows that training could draw from.
        losses: per point and in nats, before each step, on that step's batch, without the prior.
        log_priors: log density of theta under the priors before each step, nats in all; 0 where there are none.
        jitter: the largest that a step needed, in units of the signal variance.
        clipped: names of the hyper-parameters that a step pushed against a bound.
        uninformed: names of those that the data say nothing about; they are as they were broadcast.
        changed: theta differs from the broadcast one.
    """

    theta: Array
    observations: int
    losses: tuple[float, ...]
    log_priors: tuple[float, ...]
    jitter: float
    clipped: tuple[str, ...]
    uninformed: tuple[str, ...]
    changed: bool


def train(
    kernel: Kernel,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    theta: npt.ArrayLike,
    settings: TrainingSettings,
    bounds: Bounds,
    rng: np.random.Generator,
    first_step: int = 0,
    workspace: Workspace | None = None,
    priors: Sequence[LogNormal] = (),
    clients: int = 1,
) -> LocalUpdate:
    """Train from the broadcast theta; after each step theta is projected on the bounds.

    Args:
        kernel: of the function.
        X: inputs, shape (n, d), in the features' units.
        y: targets, shape (n,), scaled as the model says.
        theta: the broadcast one, shape (L,), inside the bounds.
        settings: of the round.
        bounds: of the model.
        rng: draws the mini-batches.
        first_step: t at the first step, where the decaying rate runs on over rounds.
        workspace: buffers to share.
        priors: of the model.
        clients: K; each client counts the priors for 1 / K, so that they count once in the federation.

    Raises:
        DataError: values that cannot be used, fewer than four rows, a constant target (such a client does not
            contribute, but may still predict), or more steps or memory than are allowed.
        EncodingError: theta is outside the bounds or has another length, or a prior of what theta does not have.
        NumericalError: a likelihood has no finite value.
    """
    rows = inputs(X)
    values = targets(y, len(rows))
    check_informative(values)
    bounds.check(theta)
    broadcast = np.array(theta, dtype=np.float64)
    objective = _Objective(
        Likelihood(kernel, rows, values, workspace), values.size, LogPrior(priors, bounds.names), clients
    )
    steps = settings.local_steps(values.size)
    source = draw if settings.epochs is None else epochs
    batches = source(rows, settings.batch_size, settings.batches, rng)
    held = objective.uninformed(broadcast)
    if settings.optimiser == "l-bfgs":
        current, hit = _descend(objective, broadcast, steps, next(batches), bounds, held)
    else:
        current, hit = _step(objective, broadcast, settings, first_step, islice(batches, steps), bounds, held)

    # A likelihood may flatten only on the way: what came to a bound and is not informed there goes back.
    if hit:
        held |= np.isin(bounds.names, tuple(hit)) & objective.uninformed(current)
    current[held] = broadcast[held]
    return LocalUpdate(
        current,
        values.size,
        tuple(objective.losses),
        tuple(objective.log_priors),
        objective.jitter,
        tuple(name for name in bounds.names if name in hit),
        tuple(name for name, stays in zip(bounds.names, held, strict=True) if stays),
        bool((current != broadcast).any()),
    )


def check_informative(y: Array) -> None:
    """Nothing, if hyper-parameters can be learned from these targets.

    Raises:
        DataError: fewer than four rows, or a constant target.
    """
    if y.size < MIN_ROWS:
        raise DataError(f"too few rows: {y.size}, at least {MIN_ROWS} are needed to learn from; predicting still works")
    if y.max() == y.min():
        raise DataError(
            f"constant target: all {y.size} rows are {y[0]:g}, so nothing can be learned; predicting still works"
        )


class _Objective:
    """Loss a point of a batch, with the client's share of the prior; keeps what an update reports."""

    def __init__(self, likelihood: Likelihood, rows: int, prior: LogPrior, clients: int) -> None:
        self._likelihood = likelihood
        self._rows = rows
        self._prior = prior
        self._share = 1.0 / (clients * rows)
        self.jitter = 0.0
        self.losses: list[float] = []
        self.log_priors: list[float] = []

    @property
    def batch_size(self) -> int:
        return self._likelihood.rows

    def restrict(self, batch: Rows | None, once: bool = False) -> None:
        self._likelihood.restrict(batch, once)

    def at(self, theta: Array) -> tuple[float, float, Array]:
        """(loss a point, log prior, gradient a point of the loss with its share of the prior)."""
        loss = self._likelihood.value_and_gradient(theta)
        self.jitter = max(self.jitter, loss.jitter)
        gradient = loss.gradient / self.batch_size
        log_prior = 0.0
        if not self._prior.flat:
            log_prior = self._prior.log_density(theta)
            gradient -= self._share * self._prior.gradient(theta)
        return loss.nats / self.batch_size, log_prior, gradient

    def value(self, loss: float, log_prior: float) -> float:
        return loss - self._share * log_prior

    def uninformed(self, theta: Array) -> npt.NDArray[np.bool_]:
        return uninformed(self._likelihood, self._rows, theta, self._share * self._rows * self._prior.information)


def _step(
    objective: _Objective,
    theta: Array,
    settings: TrainingSettings,
    first_step: int,
    batches: Iterable[Rows | None],
    bounds: Bounds,
    held: npt.NDArray[np.bool_],
) -> tuple[Array, set[str]]:
    """First-order steps: (theta, names of what was pushed against a bound)."""
    kind = Sgd if settings.optimiser == "sgd" else Adam
    optimiser: Optimiser = kind(settings.learning_rate, settings.decay, first_step)
    current, state = theta.copy(), start(theta.size)
    hit: set[str] = set()
    whole = True
    for batch in batches:
        if batch is not None or not whole:
            objective.restrict(batch, once=batch is not None)
            whole = batch is None
        loss, log_prior, gradient = objective.at(current)
        objective.losses.append(loss)
        objective.log_priors.append(log_prior)
        gradient[held] = 0.0
        if settings.tau is not None:
            gradient *= _paper_scaling(objective.batch_size, settings.tau, gradient.size)
        stepped, state = optimiser.step(current, limited(gradient, settings.max_gradient), state)
        current, names = bounds.clip(stepped)
        hit.update(names)
    objective.restrict(None)
    return current, hit


def _paper_scaling(batch_size: int, tau: float, length: int) -> Array:
    """From gradients a point to the paper's: the noise divided by s2(M) = M, all others by s1(M) = tau log M."""
    scaling = np.full(length, batch_size / (tau * math.log(batch_size)))
    scaling[NOISE] = 1.0
    return scaling


def _descend(
    objective: _Objective,
    theta: Array,
    steps: int,
    batch: Rows | None,
    bounds: Bounds,
    held: npt.NDArray[np.bool_],
) -> tuple[Array, set[str]]:
    """L-BFGS on one batch, which stays the same for the whole round."""
    objective.restrict(batch)
    parts: dict[float, tuple[float, float]] = {}

    def evaluate(point: Array) -> tuple[float, Array]:
        loss, log_prior, gradient = objective.at(point)
        value = objective.value(loss, log_prior)
        parts[value] = loss, log_prior
        return value, gradient

    lower = np.where(held, theta, bounds.lower)
    upper = np.where(held, theta, bounds.upper)
    found = minimise(evaluate, theta, lower, upper, steps)
    for value in found.path[:steps]:
        loss, log_prior = parts[value]
        objective.losses.append(loss)
        objective.log_priors.append(log_prior)
    objective.restrict(None)
    current = bounds.clip(found.theta).theta
    at_bound = ((current <= bounds.lower) | (current >= bounds.upper)) & (current != theta)
    return current, {name for name, there in zip(bounds.names, at_bound, strict=True) if there}
