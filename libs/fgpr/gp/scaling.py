"""Scaling of one client's target: to zero mean and unit standard deviation over that client's own rows, and back.

Mean and standard deviation stay with the client; only hyper-parameters learned in scaled units leave it.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, floats, targets

Scaling = Literal["standardise", "none"]


@dataclass(frozen=True, slots=True)
class TargetScaling:
    """scaled = (target - mean) / sd.

    Attributes:
        mean: in the target's units.
        sd: in the target's units, above 0; 1 where the target is constant.
        constant: every row has the same target (one row alone too): nothing can be learned from it.
    """

    mean: float
    sd: float
    constant: bool

    @classmethod
    def fit(cls, y: npt.ArrayLike, scaling: Scaling) -> Self:
        """The scaling of these targets; the standard deviation is the population's (divided by n).

        Args:
            y: targets of one client, shape (n,).
            scaling: "standardise", or "none" for mean 0 and sd 1.

        Raises:
            DataError: no rows, or a target that is not finite; names the row.
            NumericalError: the spread of the targets overflows.
        """
        values = targets(y)
        if values.size == 0:
            raise DataError("no rows to scale the target by")
        # Not `std == 0`: the mean of equal floats can be off by rounding, which leaves a tiny spread.
        constant = bool(values.max() == values.min())
        if scaling == "none":
            return cls(0.0, 1.0, constant)
        if constant:
            return cls(float(values[0]), 1.0, constant=True)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            mean, sd = float(values.mean()), float(values.std())
        if not (np.isfinite(mean) and np.isfinite(sd) and sd > 0):
            raise NumericalError(f"targets from {values.min()} to {values.max()} cannot be standardised: other units?")
        return cls(mean, sd, constant=False)

    def to_scaled(self, y: npt.ArrayLike) -> Array:
        """Targets in scaled units.

        Raises:
            DataError: not numbers.
            NumericalError: they overflow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite((floats(y, "targets") - self.mean) / self.sd, "targets in scaled units")

    def to_original(self, mean: npt.ArrayLike) -> Array:
        """Means in the target's units; raises as `to_scaled`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(floats(mean, "means") * self.sd + self.mean, "means in the target's units")

    def variance_to_original(self, variance: npt.ArrayLike) -> Array:
        """Variances in the square of the target's units; raises as `to_scaled`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(floats(variance, "variances") * self.sd * self.sd, "variances in the target's units")


def _finite(values: Array, what: str) -> Array:
    if not np.isfinite(values).all():
        raise NumericalError(f"{what} overflow: measure the target in larger units")
    return values
