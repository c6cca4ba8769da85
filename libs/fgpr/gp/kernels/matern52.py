"""Matern kernel with nu = 5/2 and one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.17) p. 85: c(x, x') = (1 + u + u^2 / 3) exp(-u), u = sqrt(5) r, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2.
"""

from typing import ClassVar

import numpy as np

from fgpr.gp.arrays import Array


class Matern52:
    """(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r): functions that are differentiable twice."""

    factor: ClassVar[float] = 5.0
    rough: ClassVar[bool] = False
    slope: ClassVar[float] = 5.0 / 3.0

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.radial.Profile.correlate`; here d c / d log l_d = 5/3 (1 + u) exp(-u) (z_d - z'_d)^2.

        The derivative follows from dc/du = -u (1 + u) exp(-u) / 3 and du / d log l_d = -5 (z_d - z'_d)^2 / u.
        """
        u = np.sqrt(squares)
        decay = np.exp(-u)
        u += 1.0
        squares /= 3.0
        squares += u
        squares *= decay
        if weight is not None:
            np.multiply(u, decay, out=weight)
