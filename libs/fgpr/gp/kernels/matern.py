"""Matern kernel of any smoothness nu, which is fixed, with one length-scale a feature (ARD).

Rasmussen & Williams (2006), eq. (4.14) p. 84: c(x, x') = 2^(1-nu) / Gamma(nu) u^nu K_nu(u), u = sqrt(2 nu) r, with
r^2 = sum_d (x_d - x'_d)^2 / l_d^2 and K_nu the modified Bessel function of the second kind. Functions are
differentiable less often than nu times. For nu of 1/2, 3/2 and 5/2 the closed forms are much faster.
"""

import math
from typing import ClassVar

import numpy as np

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array

NU_LIMITS = (0.1, 20.0)
"""Below, functions are noise; above, the kernel is an RBF for all practical purposes."""

_FAR = 1500.0
"""Beyond it the correlation is 0 in double precision for every nu."""

_NEAR = 1e-290


class Matern:
    """The general form.

    Attributes:
        nu: smoothness, within `NU_LIMITS`.
    """

    rough: ClassVar[bool] = True
    slope: ClassVar[float] = 1.0

    def __init__(self, nu: float) -> None:
        if not NU_LIMITS[0] <= nu <= NU_LIMITS[1]:
            raise EncodingError(f"nu is {nu:g}: expected {NU_LIMITS[0]:g} to {NU_LIMITS[1]:g}")
        self.nu = nu
        self.factor = 2.0 * nu

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """See `fgpr.gp.kernels.radial.Profile.correlate`.

        d (u^nu K_nu(u)) / du = -u^nu K_{nu-1}(u) (Abramowitz & Stegun 9.6.28), so that
        d c / d log l_d = 2 nu 2^(1-nu) / Gamma(nu) u^(nu-1) K_{nu-1}(u) (z_d - z'_d)^2.
        """
        # Where it is used: the other kernels need no Bessel function, and loading it takes time at each start.
        from scipy.special import kve

        nu = self.nu
        u = np.sqrt(squares)
        np.minimum(u, _FAR, out=u)
        decay = np.negative(u)
        np.exp(decay, out=decay)
        decay *= 2.0 ** (1.0 - nu) / math.gamma(nu)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            power = u**nu
            kve(nu, u, out=squares)
            squares *= decay
            squares *= power
            # So near 0 the Bessel function overflows, and nothing but 1 can be told.
            squares[(power < _NEAR) | ~np.isfinite(squares)] = 1.0
            np.minimum(squares, 1.0, out=squares)
            if weight is not None:
                np.power(u, nu - 1.0, out=power)
                decay *= 2.0 * nu
                kve(nu - 1.0, u, out=weight)
                weight *= decay
                weight *= power
                # At u = 0 the derivative is 0 whatever the weight: its limit, or 0 where it has none.
                weight[(power < _NEAR) | ~np.isfinite(weight)] = nu / (nu - 1.0) if nu > 1.0 else 0.0
