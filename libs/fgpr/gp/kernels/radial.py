"""Kernels that are a function of the scaled distance alone: what one has to say, and how it acts on inputs.

The stationary ARD kernels (`rbf`, the Matern family) are profiles; everything about inputs and length-scales is here
once for all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels.factor import by_lengthscales, weight_of
from fgpr.gp.kernels.panels import multiply_lower
from fgpr.gp.kernels.scaled_inputs import ScaledInputs


class Profile(Protocol):
    """A correlation as a function of r^2.

    Attributes:
        factor: what squared distances are multiplied by on the way in.
        rough: the correlation has no second derivative at 0; distances then have to be exact where they are small.
        slope: a number that `correlate` leaves out of its weight, to spare a pass.
    """

    @property
    def factor(self) -> float:
        """See the class."""

    @property
    def rough(self) -> bool:
        """See the class."""

    @property
    def slope(self) -> float:
        """See the class."""

    def correlate(self, squares: Array, weight: Array | None) -> None:
        """Turn factor * r^2 into correlations, in place.

        Args:
            squares: of any shape.
            weight: gets w with d c_ij / d log l_d = slope w_ij (z_id - z_jd)^2; of the same shape, or None.
        """


@dataclass(frozen=True, slots=True)
class PlaceRadial:
    """Places a profile on inputs: see `fgpr.gp.kernels.factor.Place`."""

    profile: Profile

    def __call__(self, X: Array, centre: Array | None) -> "PlacedRadial":
        """The profile on these inputs."""
        return PlacedRadial(self.profile, X, centre)


class PlacedRadial:
    """A profile on n inputs; see `fgpr.gp.kernels.factor.PlacedFactor`. Its parameters are the log length-scales."""

    diagonal: float = 1.0

    def __init__(self, profile: Profile, X: Array, centre: Array | None) -> None:
        self._profile = profile
        self._inputs = ScaledInputs(X, centre, exact=profile.rough)

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a correlation."""
        return self._inputs.rounding

    @property
    def blur(self) -> float:
        """See the protocol."""
        return self._inputs.rounding

    def rescale(self, parameters: Array) -> None:
        """Take these log length-scales; raises as `ScaledInputs.rescale`."""
        self._inputs.rescale(np.exp(parameters))

    def settle(self) -> None:
        """See the protocol."""
        self._inputs.settle()

    def fill(self, correlation: Array, weight: Array | None) -> None:
        """See the protocol."""
        self._inputs.correlations(self._profile.factor, self._profile.correlate, correlation, weight)

    def cross(self, other: "PlacedRadial") -> Array:
        """See the protocol."""
        return self._inputs.correlations_with(other._inputs, self._profile.factor, self._profile.correlate)

    def gradient(self, product: Array, weight: Array) -> Array:
        """See the protocol."""
        multiply_lower(product, weight)
        return self._profile.slope * self._inputs.weighted_spread(product)

    def derivatives(self) -> Iterator[Array]:
        """See the protocol."""
        weight = weight_of(self, self._inputs.rows)
        weight *= self._profile.slope
        yield from by_lengthscales(self._inputs.scaled, weight)
