"""Log-normal priors on hyper-parameters: part of the model, the same for every client.

A prior says log p ~ N(log median, sigma^2), and its density is taken **over log p**, the measure of theta. Then the
best theta is the same whatever unit a feature has, and the median of the prior is also its mode. (A density over p
itself would add -log p to the objective and pull to smaller values.)

A prior counts once for the whole federation, not once a client: with K clients each counts it for 1 / K.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.record import Record

SIGMA_LIMITS = (1e-3, 1e3)
"""Narrower, a hyper-parameter is a constant; wider, the prior says nothing."""


@dataclass(frozen=True, slots=True)
class LogNormal(Record):
    """A prior on one hyper-parameter.

    Attributes:
        name: of the entry of theta, for instance "length-scale of cycle".
        median: in natural units, above 0.
        sigma: standard deviation of the logarithm.
    """

    name: str
    median: float
    sigma: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.median) and self.median > 0):
            raise EncodingError(f"prior of {self.name}: its median is {self.median}, expected a finite number above 0")
        if not SIGMA_LIMITS[0] <= self.sigma <= SIGMA_LIMITS[1]:
            raise EncodingError(f"prior of {self.name}: its sigma is {self.sigma}, expected 0.001 to 1000")


class LogPrior:
    """The log density of theta under some priors; flat, with log density 0, where there are none.

    Args:
        priors: at most one an entry of theta.
        names: of the entries of theta, in the wire order.

    Attributes:
        information: what the priors alone know of each entry, 1 / sigma^2 or 0, shape (L,).

    Raises:
        EncodingError: a prior of what theta does not have, or two of one entry.
    """

    def __init__(self, priors: Sequence[LogNormal], names: Sequence[str]) -> None:
        known = list(names)
        for prior in priors:
            if prior.name not in known:
                raise EncodingError(f"prior of {prior.name}: there is no such hyper-parameter; there are {known}")
        if len({prior.name for prior in priors}) != len(priors):
            raise EncodingError("priors: a hyper-parameter has two")
        self._places = np.array([known.index(prior.name) for prior in priors], dtype=np.intp)
        self._centres = np.array([math.log(prior.median) for prior in priors])
        self._sigmas = np.array([prior.sigma for prior in priors])
        self.information = np.zeros(len(known))
        self.information[self._places] = self._sigmas**-2.0
        self._constant = -float(np.log(self._sigmas).sum()) - 0.5 * len(priors) * math.log(2.0 * math.pi)

    @property
    def flat(self) -> bool:
        """There are no priors."""
        return self._places.size == 0

    def log_density(self, theta: Array) -> float:
        """Its value at theta, shape (L,), in nats, over log hyper-parameters."""
        deviations = (theta[self._places] - self._centres) / self._sigmas
        return self._constant - 0.5 * float(deviations @ deviations)

    def gradient(self, theta: Array) -> Array:
        """Its gradient at theta, of shape (L,)."""
        gradient = np.zeros(theta.size)
        gradient[self._places] = (self._centres - theta[self._places]) / self._sigmas**2
        return gradient
