"""Convergence: the paper's Examples 1 and 2, theta of a federation and the truth that its data were drawn from.

Rates fall like 1 / t and gradients are scaled as in the paper's proofs (noise by M, all others by tau log M). Distances
are in natural values: theta_2 is the noise sd.
"""

from collections.abc import Sequence

import numpy as np

from fgpr.experiments.experiment import Experiment, System, Values
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model
from fgpr.experiments.records import Cell, rounded
from fgpr.federated.participation import Participation, everyone
from fgpr.federated.simulation import LocalData, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.model import ModelSpec
from fgpr.gp.training_settings import TrainingSettings

ROUNDS = 25
TRAINING = TrainingSettings("sgd", 0.25, decay=0.1, steps=10, batch_size=64, tau=1.0, max_gradient=2.0)
"""eta_t = 2.5 / (t + 10), the rate of the theorems: O(1 / t), with a first step that does not overshoot."""

SCENES = {"K=20, N=5000": [250] * 20, "K=50, N=2000": [40] * 50, "K=100, N=800": [8] * 100}
MOST_ROWS, FEWEST_ROWS = 10_000, 10
"""Of a client of Example 2. A step sees 64 of them; drawing 10,000 takes 11 CPU seconds and 0.9 GB."""

UNBALANCED_CLIENTS = 20

_SETTINGS = {"rounds": ROUNDS} | TRAINING.to_json()
_BALANCED = (System("fgpr", "FGPR, SGD", _SETTINGS | {"rows": SCENES}),)
_UNBALANCED = (
    System("fgpr", "FGPR, SGD", _SETTINGS | {"clients": UNBALANCED_CLIENTS, "rows": [FEWEST_ROWS, MOST_ROWS]}),
)


def example_1(cell: Cell) -> Values:
    """Clients of equal size: distances from the truth, round by round."""
    return _example(cell, SCENES[cell.item])


def example_2(cell: Cell) -> Values:
    """Clients of very different size, each a factor of ten as likely as the next."""
    rng = np.random.default_rng([cell.seed, 2])
    sizes = np.exp(rng.uniform(np.log(FEWEST_ROWS), np.log(MOST_ROWS), UNBALANCED_CLIENTS)).astype(int)
    return {**_example(cell, sizes.tolist()), "rows": sorted(sizes.tolist())}


def _example(cell: Cell, rows: Sequence[int]) -> Values:
    rng = np.random.default_rng(cell.seed)
    # The paper's figure for Matern has one input, that for RBF up to ten.
    dimensions = 1 if cell.variant == "matern-3/2" else int(rng.integers(1, 11))
    spec = model(dimensions, cell.variant)
    low, high = np.log([0.1, 0.01] + [0.01] * dimensions), np.log([10.0, 1.0] + [1.0] * dimensions)
    truth = np.clip(rng.uniform(low, high), spec.bounds.lower, spec.bounds.upper)
    clients = gaussian_process(spec.correlation, truth, rows, dimensions, rng)
    path = path_of(spec, clients, spec.initial_theta, TRAINING, ROUNDS, rng)
    off = np.exp(path) - np.exp(truth)
    return {
        "dimensions": dimensions,
        "truth": rounded(np.exp(truth)),
        "end": rounded(np.exp(path[-1])),
        "noise": rounded(off[:, NOISE] ** 2),
        "theta": rounded((off**2).sum(axis=1)),
    }


def path_of(
    spec: ModelSpec,
    clients: Sequence[LocalData],
    start: Array,
    training: TrainingSettings,
    rounds: int,
    rng: np.random.Generator,
    participation: Participation = everyone,
) -> Array:
    """Theta at the start and after each round, shape (R + 1, L)."""
    history = simulate(
        spec.correlation, clients, start, training, spec.bounds, rounds, rng, participation=participation
    )
    return np.vstack([start, *(one.theta for one in history)])


EXAMPLE1 = Experiment(
    "example1",
    "Example 1: how near theta of the federation comes to the truth, balanced clients",
    _BALANCED,
    tuple(SCENES),
    ("matern-3/2", "rbf"),
    first_seed=100,
    repeats=20,
    run=example_1,
)
EXAMPLE2 = Experiment(
    "example2",
    "Example 2: how near theta of the federation comes to the truth, clients of 10 to 10,000 rows",
    _UNBALANCED,
    ("K=20",),
    ("rbf",),
    first_seed=100,
    repeats=20,
    run=example_2,
)
