"""Matern kernel with nu = 3/2 and one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.17) p. 85: c(x, x') = (1 + u) exp(-u), u = sqrt(3) r, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


class Matern32:
    """(1 + sqrt(3) r) exp(-sqrt(3) r): functions that are differentiable once."""

    name: ClassVar[str] = "matern-3/2"

    def fill(self, inputs: ScaledInputs, correlation: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.kernel.Kernel.fill`; here d c / d log l_d = 3 exp(-u) (z_d - z'_d)^2.

        The derivative follows from dc/du = -u exp(-u) and du / d log l_d = -3 (z_d - z'_d)^2 / u: no division by
        a distance of 0 is left.
        """
        inputs.squared_distances(3.0, correlation)
        decay = self._correlations(correlation, weight)
        if weight is not None:
            decay *= 3.0

    def cross(self, left: ScaledInputs, right: ScaledInputs) -> Array:
        """See `fgpr.gp.kernels.kernel.Kernel.cross`."""
        squares = left.squared_distances_to(right, 3.0)
        self._correlations(squares, None)
        return squares

    def _correlations(self, squares: Array, decay: Array | None) -> Array:
        """Turn u^2 into c in place; gives exp(-u), in `decay` where that is given."""
        np.maximum(squares, 0.0, out=squares)
        np.sqrt(squares, out=squares)
        decay = np.negative(squares, out=decay)
        np.exp(decay, out=decay)
        squares += 1.0
        squares *= decay
        return decay
