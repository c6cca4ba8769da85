"""What the paper's theorems say of rates and of floors, seen on drawn data.

Theorems 1, 2 and 4 (RBF) and 3 (Matern): signal and noise are learned where the length-scale is known, by steps on M of
each client's rows with rates that fall like 1 / t. Then |theta_2 - theta_2*|^2, theta_2 the noise sd, is bounded by
O(1 / T) and a floor that falls with M; where clients differ, so is |grad L|^2. Each client has more rows than a batch,
as in the theorems: with M = N_k nothing is drawn, and what falls is the way from the start alone.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fgpr.experiments.convergence import path_of
from fgpr.experiments.experiment import Experiment, System, Values
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model
from fgpr.experiments.records import Cell, rounded
from fgpr.federated.kernel_choice import likelihoods_of
from fgpr.federated.participation import everyone, proportional_sample
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import LENGTHSCALES, NOISE, SIGNAL
from fgpr.gp.model import ModelSpec
from fgpr.gp.training_settings import TrainingSettings

ROUNDS = 500
TRAINING = TrainingSettings("sgd", 0.25, decay=0.1, steps=2, tau=1.0, max_gradient=None)
"""eta_t = beta_0 / (t + gamma) with beta_0 = 2.5 and gamma = 10; the batch is the item's M.

No gradient is clipped: where clients differ a clip moves the point at which their mean vanishes.
"""

CLIENTS, ROWS, SAMPLED = 10, 600, 3
BATCHES = (8, 40, 250)

# fmt: off
NOISE_ROUNDS = (
    0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 79, 100, 126, 158, 199, 250, 315, 397, 500,
)
# fmt: on
"""Rounds after which the error is kept: even steps of a logarithmic axis."""
GRADIENT_ROUNDS = (0, 1, 2, 4, 8, 16, 32, 64, 126, 250, 354, 500)
"""Rounds after which the gradient of all rows is computed: it costs more than the training."""

TRUTH = (1.0, 0.3, 0.2)
"""Signal sd, noise sd and length-scale of the process."""
START = (2.0, 1.0)
"""Signal sd and noise sd that training starts from."""
SPREAD = 0.5
"""Of heterogeneous clients: the sd of log signal sd and of log noise sd around the truth."""

SETTINGS = {
    "rounds": ROUNDS,
    "clients": CLIENTS,
    "rows": ROWS,
    "sampled": SAMPLED,
    "noise rounds": list(NOISE_ROUNDS),
    "gradient rounds": list(GRADIENT_ROUNDS),
    "truth": list(TRUTH),
    "start": list(START),
    "spread": SPREAD,
} | TRAINING.to_json()


def theorems(cell: Cell) -> Values:
    """One federation: the squared error of the noise and the squared gradient, after some of the rounds."""
    rng = np.random.default_rng(cell.seed)
    kernel = "matern-3/2" if "matern-3/2" in cell.variant else "rbf"
    spec = with_known_lengthscale(model(1, kernel), TRUTH[2])
    truth = np.log(TRUTH)
    sampled, heterogeneous = "sampled" in cell.variant, "heterogeneous" in cell.variant
    clients: list[LocalData] = []
    for number in range(CLIENTS):
        own = truth.copy()
        if heterogeneous:
            own[[SIGNAL, NOISE]] += rng.normal(0.0, SPREAD, 2)
        (client,) = gaussian_process(spec.correlation, own, [ROWS], 1, rng)
        clients.append(LocalData(f"client-{number:03d}", client.X, client.y))
    training = replace(TRAINING, batch_size=int(cell.item.removeprefix("M=")))
    participation = proportional_sample(SAMPLED, replacement=True) if sampled else everyone
    path = path_of(spec, clients, np.log([*START, TRUTH[2]]), training, ROUNDS, rng, participation)
    found = {"gradient": rounded(_gradients(spec, clients, path[list(GRADIENT_ROUNDS)]))}
    if not heterogeneous:
        found["noise"] = rounded((np.exp(path[list(NOISE_ROUNDS), NOISE]) - TRUTH[1]) ** 2)
    return found


def with_known_lengthscale(spec: ModelSpec, lengthscale: float) -> ModelSpec:
    """Bounds that leave no room around the length-scale: no rule of training is changed for it."""
    lower, upper = np.array(spec.bounds.lower), np.array(spec.bounds.upper)
    lower[LENGTHSCALES] = np.log(lengthscale) - 1e-9
    upper[LENGTHSCALES] = np.log(lengthscale) + 1e-9
    bounds = type(spec.bounds)(spec.bounds.names, tuple(lower.tolist()), tuple(upper.tolist()))
    return ModelSpec(spec.features, spec.target, spec.kernel, bounds)


def _gradients(spec: ModelSpec, clients: Sequence[LocalData], path: Array) -> list[float]:
    """|grad L|^2 by log signal sd and log noise sd, nats a point, over all rows, at each theta of the path."""
    parts = likelihoods_of(spec, clients)
    points = sum(part.rows for part in parts)
    found = []
    for theta in path:
        gradient = sum((part.value_and_gradient(theta).gradient for part in parts), start=np.zeros(theta.size))
        found.append(float(((gradient[[SIGNAL, NOISE]] / points) ** 2).sum()))
    return found


THEOREMS = Experiment(
    "theorems",
    "The theorems: how the error of the noise falls, to which floor by M, and whether the gradient vanishes",
    (System("fgpr", "FGPR, SGD", SETTINGS),),
    tuple(f"M={batch}" for batch in BATCHES),
    ("homogeneous", "homogeneous matern-3/2", "homogeneous sampled", "heterogeneous", "heterogeneous sampled"),
    first_seed=100,
    repeats=20,
    run=theorems,
)
