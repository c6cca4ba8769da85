"""Which hyper-parameters a client's data can say something about.

By the Cramer-Rao bound no estimate of a hyper-parameter has a standard error below 1 / sqrt(I_ii), with I the Fisher
information at the theta that the client was sent. Where that is above 10 (in log space: a factor of 20,000) the
likelihood is flat as far as this client can see: a short record of a slow curve, an input that never changes, a noise
that vanishes beside the signal. Steps along such a coordinate follow rounding or chance, and Adam makes them as long
as any other, towards a bound.
"""

import numpy as np
import numpy.typing as npt

from fgpr.gp.arrays import Array
from fgpr.gp.likelihood import Likelihood

MIN_INFORMATION = 0.01
"""Least information, in nats, for a coordinate to be trained."""

_FIRST_ROWS = 32
_MOST_ROWS = 512


def uninformed(likelihood: Likelihood, rows: int, theta: Array, more: Array) -> npt.NDArray[np.bool_]:
    """Marks the entries of theta that the data do not inform, of shape (L,).

    Some rows, evenly spread, are asked first: more rows never carry less information.

    Args:
        likelihood: left on all rows.
        rows: n.
        theta: where to ask, shape (L,).
        more: information that comes from priors, shape (L,).

    Raises:
        NumericalError: the likelihood has no finite value here.
    """
    for limit in (_FIRST_ROWS, _MOST_ROWS):
        chosen = None if rows <= limit else np.linspace(0, rows - 1, limit).astype(np.intp)
        likelihood.restrict(chosen)
        flat = np.diagonal(likelihood.information(theta)) + more < MIN_INFORMATION
        if chosen is None or not flat.any():
            break
    likelihood.restrict(None)
    return flat
