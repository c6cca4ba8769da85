"""The posterior that fits: exact where its matrix fits the memory, by nearest neighbours where it does not.

Which one it was is said by `method` of the posterior and of each prediction. Training needs no such choice: it draws
mini-batches (`fgpr.gp.local_training`).
"""

import operator

import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.cholesky import JITTER_LIMIT
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.memory import MEMORY_LIMIT, matrix_bytes
from fgpr.gp.neighbours import DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS, NeighbourPosterior
from fgpr.gp.posterior import Posterior, condition_rows, prepare

AnyPosterior = Posterior | NeighbourPosterior


def condition_within_memory(
    kernel: Kernel,
    theta: npt.ArrayLike,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: float | npt.ArrayLike | None = None,
    jitter_limit: float = JITTER_LIMIT,
    memory_limit: int = MEMORY_LIMIT,
    neighbours: int = DEFAULT_NEIGHBOURS,
) -> AnyPosterior:
    """Condition on any number of rows.

    Args:
        kernel: as in `condition`, like all that is not named here.
        theta: hyper-parameters.
        X: inputs, shape (n, d).
        y: targets, shape (n,).
        noise: variance.
        jitter_limit: largest jitter.
        memory_limit: bytes; the exact posterior is taken where its n x n matrix fits.
        neighbours: rows that each new input is conditioned on where it does not, at most 16,384.

    Raises:
        EncodingError: as `condition`.
        DataError: as `condition`, but never for the number of rows; also a number of neighbours that is none, or whose
            matrix does not fit either.
        NumericalError: as `condition`; by nearest neighbours it comes from `predict`.
    """
    covariance, rows = prepare(kernel, theta, X, y, noise, jitter_limit)
    if matrix_bytes(rows.count) <= memory_limit:
        return condition_rows(covariance, rows, jitter_limit, memory_limit)
    return NeighbourPosterior(covariance, rows, _checked(neighbours), jitter_limit, memory_limit)


def condition_by_neighbours(
    kernel: Kernel,
    theta: npt.ArrayLike,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: float | npt.ArrayLike | None = None,
    jitter_limit: float = JITTER_LIMIT,
    memory_limit: int = MEMORY_LIMIT,
    neighbours: int = DEFAULT_NEIGHBOURS,
) -> NeighbourPosterior:
    """Condition by nearest neighbours whatever the number of rows; arguments as in `condition_within_memory`."""
    covariance, rows = prepare(kernel, theta, X, y, noise, jitter_limit)
    return NeighbourPosterior(covariance, rows, _checked(neighbours), jitter_limit, memory_limit)


def _checked(neighbours: int) -> int:
    try:
        count = operator.index(neighbours)
    except TypeError as error:
        raise DataError(f"{neighbours!r} neighbours: expected a whole number") from error
    if not 1 <= count <= MAX_NEIGHBOURS:
        raise DataError(f"{count} neighbours: expected 1 to {MAX_NEIGHBOURS}")
    return count
