"""Squared exponential kernel with one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.9) p. 83 and eq. (5.1) p. 106: c(x, x') = exp(-r^2 / 2), with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


class RBF:
    """exp(-r^2 / 2): very smooth functions."""

    name: ClassVar[str] = "rbf"

    def fill(self, inputs: ScaledInputs, correlation: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.kernel.Kernel.fill`; here d c / d log l_d = c (z_d - z'_d)^2."""
        inputs.squared_distances(-0.5, correlation)
        np.minimum(correlation, 0.0, out=correlation)
        np.exp(correlation, out=correlation)
        if weight is not None:
            weight[...] = correlation

    def cross(self, left: ScaledInputs, right: ScaledInputs) -> Array:
        """See `fgpr.gp.kernels.kernel.Kernel.cross`."""
        exponent = left.squared_distances_to(right, -0.5)
        np.minimum(exponent, 0.0, out=exponent)
        np.exp(exponent, out=exponent)
        return exponent
