"""FGPR with some hyper-parameters kept private: shared length-scales, and a signal and noise of each client's own.

What is private never leaves a client: it trains all of theta, sends the shared entries, and keeps the others for its
next round. Clients of different amplitude or noise then agree on shape alone. The FGPR paper (Yue & Kontar) averages
all of theta; this is an option for federations whose clients measure with other noise, or on other scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.federated.kernel_choice import Clients, likelihoods_of
from fgpr.federated.pooled import MAX_ITERATIONS
from fgpr.gp.arrays import Array
from fgpr.gp.likelihood import Workspace
from fgpr.gp.local_training import train
from fgpr.gp.model import ModelSpec
from fgpr.gp.optimisers import minimise
from fgpr.gp.training_settings import TrainingSettings

Kept = Literal["signal", "noise", "both"]
Mask = npt.NDArray[np.bool_]

_BEGINNINGS = {"signal": ("signal sd",), "noise": ("noise sd",), "both": ("signal sd", "noise sd")}


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
    """Marks the signal sds, the noise sd, or both, in the wire order; shape (L,).

    Raises:
        DataError: `kept` is none of the three.
    """
    if kept not in _BEGINNINGS:
        raise DataError(f"kept is {kept!r}: expected {', '.join(map(repr, _BEGINNINGS))}")
    return np.array([name.startswith(_BEGINNINGS[kept]) for name in spec.theta_names])


def averaged(
    spec: ModelSpec, clients: Clients, kept: Kept, training: TrainingSettings, rounds: int, rng: np.random.Generator
) -> Personal:
    """Rounds of local steps on all of theta and averages of its shared entries; all clients take part.

    Args:
        spec: the model; training starts from its initial theta.
        clients: one entry a client.
        kept: what stays private.
        training: of each client.
        rounds: R.
        rng: source of the clients' generators.

    Raises:
        DataError: no clients, or data that cannot be trained on.
        NumericalError: a client's likelihood has no finite value.
    """
    private = _checked(spec, clients, kept)
    generators = rng.spawn(len(clients))
    thetas = np.tile(spec.initial_theta, (len(clients), 1))
    workspace, kernel = Workspace(), spec.correlation
    for number in range(rounds):
        contributions = []
        for index, client in enumerate(clients):
            update = train(
                kernel,
                client.X,
                client.y,
                thetas[index],
                training,
                spec.bounds,
                generators[index],
                first_step=number * training.local_steps(client.y.size),
                workspace=workspace,
            )
            thetas[index, private] = update.theta[private]
            contributions.append(Contribution(client.client, update.theta[~private], update.observations))
        thetas[:, ~private] = weighted_average(contributions)
    return Personal(spec, private, thetas)


def optimum(spec: ModelSpec, clients: Clients, kept: Kept, starts: Sequence[Array] = ()) -> Personal:
    """The exact optimum of sum_k L_k over the shared entries and everybody's private ones.

    It needs every client's gradient at every step, so it is no protocol: it is for experiments on data at hand.

    Args:
        spec: the model.
        clients: one entry a client.
        kept: what is private.
        starts: thetas to descend from, each of shape (L,); the best end counts. None for the model's initial theta.

    Raises:
        DataError: no clients.
        NumericalError: a client's likelihood has no finite value.
    """
    private = _checked(spec, clients, kept)
    parts = likelihoods_of(spec, clients)
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
    found = [minimise(objective, gathered(start), *box, MAX_ITERATIONS) for start in starts or [spec.initial_theta]]
    best = min(found, key=lambda one: one.value)
    return Personal(spec, private, spread(np.clip(best.theta, *box)))


def _checked(spec: ModelSpec, clients: Clients, kept: Kept) -> Mask:
    if not clients:
        raise DataError("no clients: nothing to learn from")
    return private_entries(spec, kept)
