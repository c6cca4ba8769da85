"""How many n x n matrices a computation with a covariance holds at once: what it refuses too many rows by.

One kernel works in the two buffers of a step. A sum of products keeps a correlation for each of its kernels while it
takes a gradient, and a weight for each that has parameters. `tests/fgpr/gp/test_memory.py` holds these numbers against
what is allocated.
"""

from typing import NamedTuple

from fgpr.gp.kernels.catalogue import KINDS
from fgpr.gp.kernels.expression import Expression


class Footprint(NamedTuple):
    """Numbers of matrices.

    Attributes:
        fill: the covariance of n rows alone.
        cross: the covariances of n rows with m others, of shape (n, m).
        value: a likelihood.
        gradient: a likelihood with its gradient.
        information: the Fisher information, beside one for each entry of theta.
    """

    fill: int
    cross: int
    value: int
    gradient: int
    information: int


_SINGLE = Footprint(fill=1, cross=1, value=2, gradient=3, information=5)
"""A gradient inverts by halves, of which copies are made; an information needs a kernel's weight and two to work in."""


def footprint(expression: Expression) -> Footprint:
    """The numbers of a covariance."""
    parts = expression.components
    if len(parts) == 1:
        return _SINGLE
    products = [len(term.components) for term in expression.terms]
    fill = 1 + int(len(products) > 1) + int(max(products) > 1)
    kept = len(parts) + sum(KINDS[part.name].size(1) > 0 for part in parts)
    return Footprint(fill, fill, 1 + fill, 3 + kept, 6 + kept + max(products))
