"""Memory that a computation takes for its matrices, known before it is taken.

Estimates count matrices that grow with the square of the rows, beside the posterior that is asked; blocks of a few
columns come on top and are not counted. What a machine refuses all the same becomes the same typed error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fgpr.errors import DataError

DOUBLE_BYTES = 8

MEMORY_LIMIT = 2 * 1024**3
"""Bytes that the matrices of one computation may take unless the caller says otherwise: 16,384 rows for one."""

_REMEDY = "train in batches, predict by nearest neighbours or for fewer inputs at a time, or use fewer rows"


class Need(NamedTuple):
    """What a computation takes.

    Attributes:
        what: who needs it, as the subject of a sentence, for instance "100 rows need".
        purpose: for what, for instance "2 matrices of 100 x 100".
        size: bytes.
    """

    what: str
    purpose: str
    size: int

    def check(self, limit: int) -> None:
        """Refuse, before anything is allocated, what would not fit.

        Raises:
            DataError: with rows, bytes and limit.
        """
        if self.size > limit:
            raise DataError(f"{self}, over the limit of {limit / 1e9:.2f} GB: {_REMEDY}")

    @property
    def refused(self) -> DataError:
        """The error where the limit would allow it and the machine does not."""
        return DataError(f"{self}, and this machine does not have as much free: {_REMEDY}; or lower the limit")

    def __str__(self) -> str:
        return f"{self.what} {self.size / 1e9:.2f} GB for {self.purpose}"


def squares(rows: int, matrices: int = 1) -> Need:
    """The need of that many n x n matrices of doubles."""
    return Need(f"{rows} rows need", f"{matrices} matrices of {rows} x {rows}", matrix_bytes(rows, matrices))


def check_memory(rows: int, matrices: int = 1, limit: int = MEMORY_LIMIT) -> None:
    """Refuse, before anything is allocated, what would not fit.

    Args:
        rows: n; each matrix takes 8 n^2 bytes.
        matrices: how many n x n matrices are held at once.
        limit: bytes allowed.

    Raises:
        DataError: with rows, bytes and limit.
    """
    squares(rows, matrices).check(limit)


def matrix_bytes(rows: int, matrices: int = 1) -> int:
    """Bytes of that many n x n matrices of doubles."""
    return matrices * rows * rows * DOUBLE_BYTES


@contextmanager
def reserved(need: Need, limit: int | None = None) -> Iterator[None]:
    """For a computation that takes so much, and under a limit if there is one.

    Raises:
        DataError: it is over the limit, or the machine has not got it after all.
    """
    if limit is not None:
        need.check(limit)
    try:
        yield
    except MemoryError as error:
        raise need.refused from error
