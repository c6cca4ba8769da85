"""Matern kernel with nu = 1/2, the covariance of an Ornstein-Uhlenbeck process, one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.18) p. 86 with gamma = 1: c(x, x') = exp(-r), with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array


class Matern12:
    """exp(-r): continuous functions that are differentiable nowhere."""

    factor: ClassVar[float] = 1.0
    rough: ClassVar[bool] = True
    slope: ClassVar[float] = 1.0

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.radial.Profile.correlate`; here d c / d log l_d = exp(-r) / r (z_d - z'_d)^2.

        At r = 0 the derivative is 0, and so is the weight.
        """
        np.sqrt(squares, out=squares)
        if weight is not None:
            weight[...] = 0.0
            np.divide(1.0, squares, out=weight, where=squares > 0.0)
        np.negative(squares, out=squares)
        np.exp(squares, out=squares)
        if weight is not None:
            weight *= squares
