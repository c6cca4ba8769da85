"""Cholesky factor of a correlation matrix plus noise, with a jitter that is never silent.

Jitter is a multiple of the signal variance added to the diagonal. None is tried first; then 1e-12, growing tenfold, to
`JITTER_LIMIT`. A factor that exists only by rounding (a pivot below the rounding of the entries) counts as failed:
repeated inputs without noise would otherwise give a factor, and nonsense.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, diagonal, duplicate_rows
from fgpr.gp.kernels.kernel import Placed

JITTER_START = 1e-12
JITTER_LIMIT = 1e-6

_NAMED_GROUPS = 3


def factorise_covariance(
    placed: Placed,
    X: Array,
    matrix: Array,
    weight: Array | None,
    ratio: float | Array,
    limit: float = JITTER_LIMIT,
) -> float:
    """Factor the covariance of the inputs, over the signal variance, in place: see `factorise`.

    Args:
        placed: the kernel on the inputs, at its theta.
        X: the inputs as they came, shape (n, d), to name duplicates by.
        matrix: gets the factor in its lower triangle; shape (n, n), Fortran order.
        weight: gets the kernel's weight for gradients; the same shape and order, or None.
        ratio: noise variance over signal variance, one number or one a row.
        limit: largest jitter.

    Returns:
        The jitter that was needed, in units of the signal variance.

    Raises:
        NumericalError: not positive definite with the largest jitter allowed, with cause and remedy; or inputs that
            span so many length-scales that the distance of two neighbours would be rounding.
    """
    check_span(placed)
    try:
        return factorise(lambda: placed.fill(matrix, weight), matrix, ratio, placed.rounding, limit)
    except NumericalError as error:
        raise explain(error, X) from error


def check_jitter_limit(limit: float) -> None:
    """Nothing, if it is one: from 0 to 1, which is as much as the signal itself.

    Raises:
        DataError: it is not.
    """
    if not 0.0 <= limit <= 1.0:
        raise DataError(f"the jitter limit is {limit}: expected 0 to 1, in units of the signal variance")


def check_span(placed: Placed) -> None:
    """Nothing, if the distances of the inputs can be told from rounding.

    Raises:
        NumericalError: inputs that span so many length-scales that the distance of two neighbours would be rounding.
    """
    if placed.blur > JITTER_LIMIT:
        raise NumericalError("the inputs span too many length-scales for double precision: raise the length-scales")


def factorise(
    fill: Callable[[], None],
    matrix: Array,
    ratio: float | Array,
    rounding: float,
    limit: float = JITTER_LIMIT,
) -> float:
    """Factor C + (ratio + jitter) I in place into its lower triangle; the upper triangle keeps old entries.

    Args:
        fill: writes C, its diagonal too, into `matrix`, as often as it is called.
        matrix: shape (n, n), Fortran order.
        ratio: noise variance over signal variance, one number or one a row.
        rounding: bound on the rounding of the entries; a squared pivot has to be above it.
        limit: largest jitter; 0 allows none.

    Returns:
        The jitter that was needed, in units of the signal variance; 0 almost always.

    Raises:
        NumericalError: not positive definite with the largest jitter allowed.
    """
    pivots = diagonal(matrix)
    jitter = 0.0
    while True:
        fill()
        pivots += ratio + jitter
        _, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if info == 0 and np.minimum.reduce(pivots) ** 2 > rounding:
            return jitter
        jitter = 10.0 * jitter if jitter else JITTER_START
        if jitter > limit * (1 + 1e-9):
            raise NumericalError(f"the covariance is not positive definite with a jitter up to {limit:g}")


def explain(error: NumericalError, X: Array) -> NumericalError:
    """The same error with its likely cause and the remedy, for the inputs of shape (n, d)."""
    groups = duplicate_rows(X)
    if not groups:
        return NumericalError(
            f"{error} of the signal variance: the inputs are too close for their length-scales, or too far from 0 for"
            " a kernel without; raise the noise, lower the length-scales, or centre and scale the inputs"
        )
    named = "; ".join("rows " + ", ".join(map(str, rows)) for rows in groups[:_NAMED_GROUPS])
    more = f" and {len(groups) - _NAMED_GROUPS} more groups" if len(groups) > _NAMED_GROUPS else ""
    return NumericalError(
        f"{error} of the signal variance: equal inputs in {named}{more}; give a noise above 0 or average these rows"
    )
