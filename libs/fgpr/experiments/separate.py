"""`Separate`: one client alone, trained as well as can be: L-BFGS from five starts.

The paper's figures for it come from shorter training. A federation is worth something where it beats this.
"""

import numpy as np

from fgpr.experiments.models import starts
from fgpr.federated import pooled
from fgpr.federated.kernel_choice import Learned, likelihoods_of
from fgpr.federated.simulation import LocalData
from fgpr.gp.model import ModelSpec

STARTS = 5
_SPREAD = 1.0
"""Standard deviation, in log, of the random starts around the given ones."""


def separate(spec: ModelSpec, client: LocalData, rng: np.random.Generator, count: int = STARTS) -> Learned:
    """The client's own optimum.

    Args:
        spec: the model.
        client: the one.
        rng: draws the starts beyond the given ones.
        count: starts in all.
    """
    given = starts(spec)[:count]
    while len(given) < count:
        around = given[0] + _SPREAD * rng.standard_normal(given[0].size)
        given.append(spec.bounds.clip(around).theta)
    found = pooled.optimise(likelihoods_of(spec, [client]), spec.bounds, given)
    return Learned(spec, found.theta, found.loss)
