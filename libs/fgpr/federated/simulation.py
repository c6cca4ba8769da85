"""A federation in one process: K clients, R rounds of FGPR (Algorithm 1 of the paper).

How thetas become one is an argument: the plain average by default, the masked protocol where that is wanted. The
simulation itself never looks at a client's theta again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.federated.participation import Participation, everyone
from fgpr.gp.arrays import Array, inputs, targets
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.hyperprior import LogNormal
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.likelihood import Workspace
from fgpr.gp.local_training import train
from fgpr.gp.training_settings import TrainingSettings

Aggregate = Callable[[Sequence[Contribution]], Array]
"""From the contributions of a round to the next theta."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalData:
    """One client's data.

    Attributes:
        client: its name, unique.
        X: inputs, shape (n, d).
        y: targets, shape (n,), scaled.
    """

    client: str
    X: Array
    y: Array

    def __post_init__(self) -> None:
        targets(self.y, len(inputs(self.X)))


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRound:
    """What one round did.

    Attributes:
        theta: after the round.
        clients: names of those that took part.
        loss: mean over their rows of the loss before their first step (on its batch), nats a point.
        clipped: names of hyper-parameters that some client's step pushed against a bound.
        jitter: the largest that a client's step needed.
        uninformed: names of hyper-parameters that no client's data said anything about.
    """

    theta: Array
    clients: tuple[str, ...]
    loss: float
    clipped: tuple[str, ...]
    jitter: float
    uninformed: tuple[str, ...]


def simulate(
    kernel: Kernel,
    data: Sequence[LocalData],
    theta: npt.ArrayLike,
    settings: TrainingSettings,
    bounds: Bounds,
    rounds: int,
    rng: np.random.Generator,
    participation: Participation = everyone,
    aggregate: Aggregate = weighted_average,
    priors: Sequence[LogNormal] = (),
) -> list[SimulatedRound]:
    """Run the rounds, each from the theta of the one before.

    A decaying rate runs on over the rounds: its t is (round - 1) E + step, E the client's own. Each client draws from a
    generator of its own, so that its batches do not depend on who else is there.

    Args:
        kernel: the correlation.
        data: one entry a client.
        theta: where the first round starts, in the wire order.
        settings: of the local training.
        bounds: of theta.
        rounds: R.
        rng: source of the clients' generators and of the participation's.
        participation: who takes part; see `fgpr.federated.participation`.
        aggregate: makes the next theta; may raise to end the simulation.
        priors: of the model; they count once in the federation.

    Returns:
        One entry a round.

    Raises:
        DataError: no clients, two of one name, or data that cannot be trained on; names the client.
        EncodingError: theta outside the bounds.
        NumericalError: a client's likelihood has no finite value.
    """
    names = [client.client for client in data]
    if not names or len(set(names)) != len(names):
        raise DataError(f"{len(names)} clients with {len(set(names))} names: each needs its own")
    draws, *generators = rng.spawn(len(data) + 1)
    observations = [client.y.size for client in data]
    current = np.array(theta, dtype=np.float64)
    workspace = Workspace()
    history: list[SimulatedRound] = []
    for number in range(rounds):
        drawn = participation(observations, draws)
        updates = []
        for index in drawn.clients:
            client = data[index]
            try:
                update = train(
                    kernel,
                    client.X,
                    client.y,
                    current,
                    settings,
                    bounds,
                    generators[index],
                    first_step=number * settings.local_steps(client.y.size),
                    workspace=workspace,
                    priors=priors,
                    clients=len(data),
                )
            except DataError as error:
                raise DataError(f"client {client.client}: {error}") from error
            updates.append(update)
        contributions = [
            Contribution(names[index], update.theta, weight)
            for index, update, weight in zip(drawn.clients, updates, drawn.weights, strict=True)
        ]
        current = aggregate(contributions)
        rows = sum(update.observations for update in updates)
        hit = {name for update in updates for name in update.clipped}
        history.append(
            SimulatedRound(
                current,
                tuple(names[index] for index in drawn.clients),
                sum(update.losses[0] * update.observations for update in updates) / rows,
                tuple(name for name in bounds.names if name in hit),
                max(update.jitter for update in updates),
                tuple(name for name in bounds.names if all(name in update.uninformed for update in updates)),
            )
        )
    return history
