"""Matern kernel with nu = 3/2 and one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.17) p. 85: c(x, x') = (1 + u) exp(-u), u = sqrt(3) r, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array


class Matern32:
    """(1 + sqrt(3) r) exp(-sqrt(3) r): functions that are differentiable once."""

    factor: ClassVar[float] = 3.0
    rough: ClassVar[bool] = False
    slope: ClassVar[float] = 3.0

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.radial.Profile.correlate`; here d c / d log l_d = 3 exp(-u) (z_d - z'_d)^2.

        The derivative follows from dc/du = -u exp(-u) and du / d log l_d = -3 (z_d - z'_d)^2 / u: no division by
        a distance of 0 is left.
        """
        np.sqrt(squares, out=squares)
        decay = np.negative(squares, out=weight)
        np.exp(decay, out=decay)
        squares += 1.0
        squares *= decay
