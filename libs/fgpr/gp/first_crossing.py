"""When a function first reaches a threshold: the distribution of the first crossing, from functions drawn jointly.

Marginal bands cannot say this: how likely a crossing is before a given input depends on how values at all inputs hang
together, and so on the joint posterior (Rasmussen & Williams 2006, section 2.2). It is the function without noise that
crosses; one noisy measurement beyond the threshold is no crossing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.arrays import Array, floats

Direction = Literal["above", "below"]
"""Which side of the threshold counts as crossed: its own value does, too."""


@dataclass(frozen=True, slots=True, eq=False)
class FirstCrossing:
    """The first input at which each drawn function is across the threshold, on the grid that it was drawn at.

    Attributes:
        at: the grid, rising, shape (m,).
        probability: of the first crossing at each point of the grid, shape (m,).
    """

    at: Array
    probability: Array

    @property
    def none_within(self) -> float:
        """Probability that there is no crossing up to the end of the grid."""
        return max(0.0, 1.0 - float(self.probability.sum()))

    def quantile(self, level: float) -> float | None:
        """The least input by which a crossing has come with at least this probability; None beyond the grid.

        Raises:
            DataError: the level is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise DataError(f"the quantile at {level} was asked for: expected a level between 0 and 1")
        # Half the weight of one draw in a million forgives the rounding of the sum, and no draw.
        reached = np.flatnonzero(np.cumsum(self.probability) >= level - 5e-7)
        return float(self.at[reached[0]]) if reached.size else None

    def quantiles(self, levels: Sequence[float]) -> tuple[float | None, ...]:
        """As `quantile`, one a level."""
        return tuple(self.quantile(level) for level in levels)


def first_crossing(samples: npt.ArrayLike, at: npt.ArrayLike, threshold: float, direction: Direction) -> FirstCrossing:
    """The distribution of the first crossing over drawn functions.

    A crossing between two points of the grid counts at the later one.

    Args:
        samples: functions without noise, shape (count, m), as `JointPrediction.sample` draws them.
        at: the inputs that they were drawn at, rising, shape (m,).
        threshold: in the unit of the samples.
        direction: "above": crossed where the value is at or above the threshold; "below": at or below it.

    Raises:
        DataError: no samples or no grid, shapes that do not fit, a grid that does not rise, values that are not finite,
            or another direction.
    """
    drawn, grid = floats(samples, "samples"), floats(at, "grid")
    if grid.ndim != 1 or drawn.ndim != 2 or drawn.size == 0 or drawn.shape[1] != grid.size:
        raise DataError(f"samples of shape {drawn.shape} on a grid of shape {grid.shape}: expected (count, m) and (m,)")
    if not (np.isfinite(drawn).all() and np.isfinite(grid).all() and math.isfinite(threshold)):
        raise DataError("samples, grid or threshold are not finite numbers")
    if not (np.diff(grid) > 0).all():
        raise DataError("the grid of a first crossing has to rise from each point to the next")
    if direction not in ("above", "below"):
        raise DataError(f"direction is {direction!r}: expected 'above' or 'below'")
    across = drawn >= threshold if direction == "above" else drawn <= threshold
    first = np.argmax(across, axis=1)[across.any(axis=1)]
    counts = np.bincount(first, minlength=grid.size)
    return FirstCrossing(grid, counts / len(drawn))
