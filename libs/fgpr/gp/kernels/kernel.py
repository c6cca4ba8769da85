"""What a kernel is to the rest of the package, and the kernels by name.

A covariance is the signal variance times a correlation c(z, z') of inputs scaled by their length-scales. Kernels know
the correlation only: likelihood and posterior work on C + (noise / signal variance) I, so that no signal variance,
however large, reaches a matrix.
"""

from typing import ClassVar, Protocol

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.matern32 import Matern32
from fgpr.gp.kernels.rbf import RBF
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


class Kernel(Protocol):
    """A stationary kernel with one length-scale a feature."""

    name: ClassVar[str]

    def fill(self, inputs: ScaledInputs, correlation: Array, weight: Array | None) -> None:
        """Correlations of the inputs with themselves, and what their gradients need.

        Args:
            inputs: n rescaled inputs.
            correlation: gets c(z_i, z_j); shape (n, n), Fortran order. The diagonal is left to the caller.
            weight: gets w with d c_ij / d log l_d = w_ij (z_id - z_jd)^2; the same shape and order, or None.
        """

    def cross(self, left: ScaledInputs, right: ScaledInputs) -> Array:
        """Correlations between two sets of inputs with one centre: shape (n, m), Fortran order, at most 1."""


_KERNELS: dict[str, Kernel] = {"rbf": RBF(), "matern-3/2": Matern32()}

KERNEL_NAMES = tuple(_KERNELS)


def kernel_named(name: str) -> Kernel:
    """The kernel of that name.

    Raises:
        EncodingError: no such kernel; the message lists those that exist.
    """
    if name not in _KERNELS:
        raise EncodingError(f"no kernel is named {name!r}; known are {', '.join(KERNEL_NAMES)}")
    return _KERNELS[name]
