"""FGPR in its forms: averages of mini-batch steps, sampled or not, and the exact optimum.

Training is the library's (`fgpr.gp.local_training`, `fgpr.federated`); here stand only the settings of the experiments.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgpr.errors import DataError
from fgpr.experiments.models import starts
from fgpr.federated import pooled
from fgpr.federated.kernel_choice import Clients, Learned, likelihoods_of
from fgpr.federated.participation import Participation, everyone
from fgpr.federated.simulation import simulate
from fgpr.gp.arrays import Array
from fgpr.gp.model import ModelSpec
from fgpr.gp.optimisers import minimise
from fgpr.gp.training_settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """How a federation trains.

    Attributes:
        training: of each client.
        rounds: R.
        participation: who takes part.
    """

    training: TrainingSettings
    rounds: int
    participation: Participation = everyone


MINI_BATCHES = Settings(TrainingSettings("adam", 0.1, decay=0.01, steps=10, batch_size=32), 100)
"""The paper's way: E = 10 local steps on 32 rows, 100 rounds; Adam, whose rate falls from 0.1 to 0.009."""

SGD = Settings(TrainingSettings("sgd", 0.5, decay=0.01, steps=10, batch_size=32, max_gradient=1.0), 100)
"""Plain stochastic gradient descent, as in the paper's Algorithm 2."""


def averaged(spec: ModelSpec, clients: Clients, settings: Settings, rng: np.random.Generator) -> Learned:
    """FedAvg: rounds of local steps and weighted averages of theta."""
    history = simulate(
        spec.correlation,
        clients,
        spec.initial_theta,
        settings.training,
        spec.bounds,
        settings.rounds,
        rng,
        participation=settings.participation,
    )
    theta = history[-1].theta
    return Learned(spec, theta, pooled.pooled_loss(likelihoods_of(spec, clients), theta))


def optimum(spec: ModelSpec, clients: Clients) -> Learned:
    """The exact optimum of the federated objective, from several starts."""
    found = pooled.optimise(likelihoods_of(spec, clients), spec.bounds, starts(spec))
    return Learned(spec, found.theta, found.loss)


def descended(spec: ModelSpec, clients: Clients, iterations: int, ranges: float) -> Learned:
    """L-BFGS at the server on summed losses and gradients, from one start, each evaluation a round of all clients.

    Args:
        spec: the model.
        clients: whose rows count.
        iterations: at most so many; each is one round, rarely two.
        ranges: length-scales that it starts from, in ranges of the features.
    """
    parts = likelihoods_of(spec, clients)
    found = pooled.optimise(parts, spec.bounds, starts(spec, (ranges,)), iterations=iterations)
    return Learned(spec, found.theta, found.loss)


def weighted_optimum(spec: ModelSpec, clients: Clients, weights: Sequence[float]) -> Array:
    """The theta that minimises sum_k p_k L_k / n_k, from several starts.

    Args:
        spec: the model.
        clients: whose rows count.
        weights: p_k, in place of the n_k / N of `optimum`.

    Raises:
        DataError: not one weight a client, or one below 0.
    """
    if len(weights) != len(clients) or min(weights) < 0.0 or sum(weights) <= 0.0:
        raise DataError(f"{len(weights)} weights for {len(clients)} clients: one each, none below 0, not all 0")
    parts = likelihoods_of(spec, clients)

    def objective(theta: Array) -> tuple[float, Array]:
        total, gradient = 0.0, np.zeros(theta.size)
        for part, weight in zip(parts, weights, strict=True):
            if weight > 0.0:
                value = part.value_and_gradient(theta)
                total += weight * value.nats / part.rows
                gradient += weight * value.gradient / part.rows
        return total, gradient

    box = np.array(spec.bounds.lower), np.array(spec.bounds.upper)
    found = [minimise(objective, start, *box, pooled.MAX_ITERATIONS) for start in starts(spec)]
    return spec.bounds.clip(min(found, key=lambda one: one.value).theta).theta
