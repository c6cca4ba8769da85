"""FGPR with some hyper-parameters kept private: shared length-scales, and a signal and noise of each client's own.

What is private never leaves a client: it trains all of theta, sends the shared entries, and keeps the others for its
next round. Clients of different amplitude or noise then agree on shape alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.experiments.federations import Clients, Settings
from fgpr.experiments.models import likelihoods, starts
from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.federated.pooled import MAX_ITERATIONS
from fgpr.gp.arrays import Array
from fgpr.gp.likelihood import Workspace
from fgpr.gp.local_training import train
from fgpr.gp.model import ModelSpec
from fgpr.gp.optimisers import minimise

Kept = Literal["signal", "noise", "both"]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Personal:
    """What a federation with private entries learned.

    Attributes:
        spec: the model.
        private: marks the private entries of theta, shape (L,).
        thetas: one a client, shape (K, L); they differ in the private entries alone.
    """

    spec: ModelSpec
    private: Mask
    thetas: Array


def private_entries(spec: ModelSpec, kept: Kept) -> Mask:
    """Marks the signal sds, the noise sd, or both."""
    beginnings = {"signal": ("signal sd",), "noise": ("noise sd",), "both": ("signal sd", "noise sd")}[kept]
    return np.array([name.startswith(beginnings) for name in spec.theta_names])


def averaged(spec: ModelSpec, clients: Clients, kept: Kept, settings: Settings, rng: np.random.Generator) -> Personal:
    """Rounds of local steps on all of theta and averages of its shared entries; all clients take part."""
    private = private_entries(spec, kept)
    generators = rng.spawn(len(clients))
    thetas = np.tile(spec.initial_theta, (len(clients), 1))
    workspace, kernel = Workspace(), spec.correlation
    for number in range(settings.rounds):
        contributions = []
        for index, client in enumerate(clients):
            first = number * settings.training.local_steps(client.y.size)
            update = train(
                kernel,
                client.X,
                client.y,
                thetas[index],
                settings.training,
                spec.bounds,
                generators[index],
                first_step=first,
                workspace=workspace,
            )
            thetas[index, private] = update.theta[private]
            contributions.append(Contribution(client.client, update.theta[~private], update.observations))
        thetas[:, ~private] = weighted_average(contributions)
    return Personal(spec, private, thetas)


def optimum(spec: ModelSpec, clients: Clients, kept: Kept) -> Personal:
    """The exact optimum of sum_k L_k over the shared entries and everybody's private ones."""
    private = private_entries(spec, kept)
    parts = likelihoods(spec.correlation, list(clients))
    shared_size, private_size = int((~private).sum()), int(private.sum())
    points = sum(part.rows for part in parts)

    def spread(joint: Array) -> Array:
        thetas = np.empty((len(clients), private.size))
        thetas[:, ~private] = joint[:shared_size]
        thetas[:, private] = joint[shared_size:].reshape(len(clients), private_size)
        return thetas

    def objective(joint: Array) -> tuple[float, Array]:
        total, gradient = 0.0, np.zeros(joint.size)
        own = gradient[shared_size:].reshape(len(clients), private_size)
        for index, (part, theta) in enumerate(zip(parts, spread(joint), strict=True)):
            value = part.value_and_gradient(theta)
            total += value.nats
            gradient[:shared_size] += value.gradient[~private]
            own[index] = value.gradient[private]
        return total / points, gradient / points

    def gathered(theta: Sequence[float] | Array) -> Array:
        values = np.asarray(theta)
        return np.concatenate([values[~private], np.tile(values[private], len(clients))])

    box = gathered(spec.bounds.lower), gathered(spec.bounds.upper)
    found = [minimise(objective, gathered(start), *box, MAX_ITERATIONS) for start in starts(spec)]
    best = min(found, key=lambda one: one.value)
    return Personal(spec, private, spread(np.clip(best.theta, *box)))
