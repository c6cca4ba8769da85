"""Averages of local thetas: Algorithm 1 of the FGPR paper (Yue & Kontar).

With every client taking part, theta = sum_k p_k theta_k with p_k = n_k / N (its synchronous text). Where clients were
drawn with probability p_k, the average is uniform over the draws (its Algorithm 1). Both are a weighted average: the
weight is n_k in the first case, the number of times that a client was drawn in the second.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.arrays import Array

WEIGHT_CAP = 65_535
"""Largest weight of one client unless the federation says otherwise."""


class Contribution(NamedTuple):
    """One client's part of an average.

    Attributes:
        client: its name, for messages.
        theta: in the wire order, shape (L,).
        weight: n_k, or the number of times it was drawn; 0 leaves it out.
    """

    client: str
    theta: npt.ArrayLike
    weight: int


def weighted_average(contributions: Sequence[Contribution], cap: int = WEIGHT_CAP) -> Array:
    """sum_k w_k theta_k / sum_k w_k, of shape (L,).

    Args:
        contributions: one a client.
        cap: largest weight allowed.

    Raises:
        DataError: no contribution, all weights 0 ("no examples"), a weight that is not a whole number from 0 to the
            cap, thetas of different lengths, or one that is not finite; names the client.
    """
    for contribution in contributions:
        _check_weight(contribution, cap)
    total = sum(contribution.weight for contribution in contributions)
    if total == 0:
        raise DataError(f"no examples: the weights of {len(contributions)} contributions sum to 0")
    thetas = [_theta(contribution) for contribution in contributions]
    for contribution, theta in zip(contributions, thetas, strict=True):
        if theta.shape != thetas[0].shape:
            raise DataError(f"theta of {contribution.client} has shape {theta.shape}, others {thetas[0].shape}")
    shares = np.array([contribution.weight / total for contribution in contributions])
    stacked = np.stack(thetas)
    counted = stacked[shares > 0.0]
    # Clients that agree on a bound would by rounding have an average outside it.
    average: Array = np.clip(shares @ stacked, counted.min(axis=0), counted.max(axis=0))
    return average


def uniform_average(contributions: Sequence[Contribution]) -> Array:
    """The plain mean of the thetas, whatever the weights; raises as `weighted_average`."""
    return weighted_average([contribution._replace(weight=1) for contribution in contributions])


def _check_weight(contribution: Contribution, cap: int) -> None:
    weight = contribution.weight
    whole = isinstance(weight, int | np.integer) and not isinstance(weight, bool)
    if not (whole and 0 <= weight <= cap):
        raise DataError(
            f"the weight of {contribution.client} is {weight}: expected a whole number of observations, 0 to {cap}"
        )


def _theta(contribution: Contribution) -> Array:
    theta = np.asarray(contribution.theta, dtype=np.float64)
    if theta.ndim != 1:
        raise DataError(f"theta of {contribution.client} has shape {theta.shape}: expected one dimension")
    if not np.isfinite(theta).all():
        index = int(np.argmin(np.isfinite(theta)))
        raise DataError(f"theta of {contribution.client} is {theta[index]} at position {index}: not a finite number")
    return theta
