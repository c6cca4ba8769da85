"""A prior whose function is split in two: what all clients have in common, and what is each client's own.

Of each term K_i of the prior's covariance sum_i K_i a share rho_i is common. The common part is given by finitely many
functions (`fgpr.gp.random_features`), the client's own by its kernel. See `fgpr.federated.shared_function`.
"""

import math
from dataclasses import dataclass

import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.parameters import TermLayout, layout
from fgpr.gp.model import ModelSpec
from fgpr.gp.posterior import Posterior, condition
from fgpr.gp.random_features import RandomFeatures


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A prior whose function is split in two; every client has the same one.

    Attributes:
        spec: the model.
        theta: in the wire order, shape (L,).
        shares: rho, the common part of the variance of each term of the kernel's sum, from 0 to below 1.
        features: of the kernel at theta.
    """

    spec: ModelSpec
    theta: Array
    shares: tuple[float, ...]
    features: RandomFeatures

    def __post_init__(self) -> None:
        for share in self.shares:
            if not 0.0 <= share < 1.0:
                raise DataError(f"a common share is {share}: expected 0 to below 1, some being left to each client")
        if len(self.shares) != len(self._terms):
            raise DataError(f"{len(self.shares)} common shares for the {len(self._terms)} terms of {self.spec.kernel}")

    @property
    def _terms(self) -> tuple[TermLayout, ...]:
        return layout(self.spec.correlation.expression, len(self.spec.features))

    @property
    def signals(self) -> list[int]:
        """Places in theta of the terms' log signal sds."""
        return [term.signal for term in self._terms]

    @property
    def own_theta(self) -> Array:
        """Theta of a client's own function: its signal sds are sqrt(1 - rho) of the whole."""
        own = self.theta.copy()
        for share, term in zip(self.shares, self._terms, strict=True):
            own[term.signal] += 0.5 * math.log1p(-share)
        return own

    def common(self, X: npt.ArrayLike) -> Array:
        """The features phi of the common function at inputs of shape (n, d): shape (n, D)."""
        return self.features.at(X, self.shares)

    def own(self, client: LocalData, y: Array) -> Posterior:
        """The client's own function given these targets, shape (n,), at its inputs; raises as `condition`."""
        return condition(self.spec.correlation, self.own_theta, client.X, y)
