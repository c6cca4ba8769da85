"""How every client of a round trains; part of the signed plan."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from fgpr.errors import DataError, EncodingError
from fgpr.gp.batches import Batches, batches_per_epoch
from fgpr.gp.record import Record

MIN_BATCH = 2
MAX_STEPS = 10_000


def _is_default(default: Any) -> Any:
    """Fields that came later are left out of the JSON form where they say nothing: the older form keeps its bytes."""
    return Field(exclude_if=lambda value: value == default)


@dataclass(frozen=True, slots=True)
class TrainingSettings(Record):
    """Settings of local training, checked when made.

    Attributes:
        optimiser: "sgd", "adam", or "l-bfgs" (on one batch a round; its steps are iterations, and it has no rate).
        learning_rate: at the first step, above 0.
        decay: the rate at step t is learning_rate / (1 + decay t).
        steps: E, 1 to 10,000.
        batch_size: M, rows drawn anew without replacement for each step; None for all rows.
        epochs: passes over the client's rows, in place of `steps`; None for `steps`.
        batches: "uniform", or "nearest": a row drawn uniformly and the M - 1 rows nearest to it.
        tau: divide the gradient of the noise by s2(M) = M and all others by s1(M) = tau log M, as the paper's proofs
            do; None divides all by M.
        max_gradient: longest gradient (Euclidean norm, after its scaling) that a step follows as it is; longer ones
            are shortened to it. None limits nothing.
    """

    optimiser: Literal["sgd", "adam", "l-bfgs"] = "adam"
    learning_rate: float = 0.1
    decay: float = 0.0
    steps: int = 5
    batch_size: int | None = None
    epochs: Annotated[int | None, _is_default(None)] = None
    batches: Annotated[Batches, _is_default("uniform")] = "uniform"
    tau: Annotated[float | None, _is_default(None)] = None
    max_gradient: Annotated[float | None, _is_default(None)] = None

    def __post_init__(self) -> None:
        if self.optimiser not in ("sgd", "adam", "l-bfgs"):
            raise EncodingError(f"optimiser is {self.optimiser!r}: expected 'sgd', 'adam' or 'l-bfgs'")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise EncodingError(f"learning rate is {self.learning_rate}: expected a finite number above 0")
        if not (math.isfinite(self.decay) and self.decay >= 0):
            raise EncodingError(f"decay is {self.decay}: expected a finite number, at least 0")
        if not 1 <= self.steps <= MAX_STEPS:
            raise EncodingError(f"steps are {self.steps}: expected 1 to {MAX_STEPS}")
        if self.batch_size is not None and self.batch_size < MIN_BATCH:
            raise EncodingError(f"batch size is {self.batch_size}: expected {MIN_BATCH} or more, or none for all rows")
        if self.epochs is not None and not 1 <= self.epochs <= MAX_STEPS:
            raise EncodingError(f"epochs are {self.epochs}: expected 1 to {MAX_STEPS}, or none to count steps")
        if self.batches not in ("uniform", "nearest"):
            raise EncodingError(f"batches are {self.batches!r}: expected 'uniform' or 'nearest'")
        for name, value in (("tau", self.tau), ("max_gradient", self.max_gradient)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise EncodingError(f"{name} is {value}: expected a finite number above 0, or none")
            if value is not None and self.optimiser == "l-bfgs":
                raise EncodingError(f"{name} is {value}: l-bfgs takes the gradient as it is")

    def local_steps(self, rows: int) -> int:
        """How many steps a client with that many rows makes in a round.

        Raises:
            DataError: its epochs are more than 10,000 steps.
        """
        if self.epochs is None:
            return self.steps
        steps = self.epochs * batches_per_epoch(rows, self.batch_size)
        if steps > MAX_STEPS:
            raise DataError(
                f"{self.epochs} epochs of {rows} rows are {steps} steps, at most {MAX_STEPS}: larger batches"
            )
        return steps
