"""Squared exponential kernel with one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.9) p. 83 and eq. (5.1) p. 106: c(x, x') = exp(-r^2 / 2), with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array


class RBF:
    """exp(-r^2 / 2): very smooth functions."""

    factor: ClassVar[float] = -0.5
    rough: ClassVar[bool] = False
    slope: ClassVar[float] = 1.0

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.radial.Profile.correlate`; here d c / d log l_d = c (z_d - z'_d)^2."""
        np.exp(squares, out=squares)
        if weight is not None:
            weight[...] = squares
