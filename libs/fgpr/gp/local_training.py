"""A client's part of a round: E steps from the broadcast theta on its own data.

Algorithm 2 of the FGPR paper (Yue & Kontar). The loss is the negative log marginal likelihood of the batch divided by
the batch size, so that clients weighted by their number of rows sum up to a loss per point.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, EncodingError
from fgpr.gp.arrays import Array, inputs, targets
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.optimisers import Adam, Optimiser, Sgd, start
from fgpr.gp.record import Record

MIN_ROWS = 2
MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class TrainingSettings(Record):
    """How every client of a round trains; part of the signed plan.

    Attributes:
        optimiser: "sgd" or "adam".
        learning_rate: at the first step, above 0.
        decay: the rate at step t is learning_rate / (1 + decay t).
        steps: E, 1 to 10,000.
        batch_size: M, rows drawn anew without replacement for each step; None for all rows.
    """

    optimiser: Literal["sgd", "adam"] = "adam"
    learning_rate: float = 0.1
    decay: float = 0.0
    steps: int = 5
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if self.optimiser not in ("sgd", "adam"):
            raise EncodingError(f"optimiser is {self.optimiser!r}: expected 'sgd' or 'adam'")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise EncodingError(f"learning rate is {self.learning_rate}: expected a finite number above 0")
        if not (math.isfinite(self.decay) and self.decay >= 0):
            raise EncodingError(f"decay is {self.decay}: expected a finite number, at least 0")
        if not 1 <= self.steps <= MAX_STEPS:
            raise EncodingError(f"steps are {self.steps}: expected 1 to {MAX_STEPS}")
        if self.batch_size is not None and self.batch_size < MIN_ROWS:
            raise EncodingError(f"batch size is {self.batch_size}: expected {MIN_ROWS} or more, or none for all rows")


@dataclass(frozen=True, slots=True, eq=False)
class LocalUpdate:
    """What a client has after its local steps.

    Attributes:
        theta: theta_k, in the wire order, inside the bounds.
        observations: n_k, the rows that training could draw from.
        losses: per point and in nats, before each step, on that step's batch.
        jitter: the largest that a step needed, in units of the signal variance.
        clipped: names of the hyper-parameters that a step pushed against a bound.
    """

    theta: Array
    observations: int
    losses: tuple[float, ...]
    jitter: float
    clipped: tuple[str, ...]


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
) -> LocalUpdate:
    """Train from the broadcast theta; after each step theta is projected on the bounds.

    Args:
        kernel: the correlation.
        X: inputs, shape (n, d), in the features' units.
        y: targets, shape (n,), scaled as the model says.
        theta: the broadcast one, shape (d + 2,), inside the bounds.
        settings: of the round.
        bounds: of the model.
        rng: draws the mini-batches.
        first_step: t at the first step, where the decaying rate runs on over rounds.
        workspace: buffers to share.

    Raises:
        DataError: values that cannot be used, fewer than two rows, or a constant target: such a client does not
            contribute, but may still predict.
        EncodingError: theta is outside the bounds or has another length.
        NumericalError: a likelihood has no finite value.
    """
    rows = inputs(X)
    values = targets(y, len(rows))
    check_informative(values)
    bounds.check(theta)
    optimiser = _optimiser(settings, first_step)
    likelihood = Likelihood(kernel, rows, values, workspace)
    batch_size = min(settings.batch_size or values.size, values.size)

    current = np.array(theta, dtype=np.float64)
    state = start(current.size)
    losses: list[float] = []
    jitter = 0.0
    clipped: set[str] = set()
    for _ in range(settings.steps):
        if batch_size < values.size:
            likelihood.restrict(rng.choice(values.size, batch_size, replace=False))
        loss = likelihood.value_and_gradient(current)
        stepped, state = optimiser.step(current, loss.gradient / batch_size, state)
        current, names = bounds.clip(stepped)
        losses.append(loss.nats / batch_size)
        jitter = max(jitter, loss.jitter)
        clipped.update(names)
    return LocalUpdate(current, values.size, tuple(losses), jitter, _in_order(bounds, clipped))


def check_informative(y: Array) -> None:
    """Nothing, if hyper-parameters can be learned from these targets.

    Raises:
        DataError: fewer than two rows, or a constant target.
    """
    if y.size < MIN_ROWS:
        raise DataError(f"too few rows: {y.size}, at least {MIN_ROWS} are needed to learn from; predicting still works")
    if y.max() == y.min():
        raise DataError(
            f"constant target: all {y.size} rows are {y[0]:g}, so nothing can be learned; predicting still works"
        )


def _optimiser(settings: TrainingSettings, first_step: int) -> Optimiser:
    kind = Sgd if settings.optimiser == "sgd" else Adam
    return kind(settings.learning_rate, settings.decay, first_step)


def _in_order(bounds: Bounds, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=bounds.names.index))
