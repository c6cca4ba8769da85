"""Which rows a step of local training sees: all, a uniform draw, or one row with its nearest neighbours.

A uniform mini-batch spreads over the inputs and knows little of short length-scales; a batch of neighbours shows them
and knows little of long ones (H. Chen, L. Zheng, R. Al Kontar and G. Raskutti 2020, Stochastic gradient descent in
correlated settings: a study on Gaussian processes, NeurIPS 33). Everything random comes from the generator.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from fgpr.gp.arrays import Array

Batches = Literal["uniform", "nearest"]
Rows = npt.NDArray[np.intp]


def batches_per_epoch(rows: int, batch_size: int | None) -> int:
    """How many batches go once over n rows; the last rows are spread over the others, so that none is small."""
    return 1 if batch_size is None else max(1, rows // batch_size)


def draw(X: Array, batch_size: int | None, kind: Batches, rng: np.random.Generator) -> Iterator[Rows | None]:
    """Batches without end, each drawn anew without replacement; None stands for all rows.

    Args:
        X: inputs, shape (n, d).
        batch_size: M; None, or n and more, is all rows.
        kind: how M rows are chosen.
        rng: draws them.
    """
    rows = len(X)
    if batch_size is None or batch_size >= rows:
        while True:
            yield None
    nearest = _Nearest(X) if kind == "nearest" else None
    while True:
        if nearest is None:
            yield rng.choice(rows, batch_size, replace=False)
        else:
            yield nearest.of(int(rng.integers(rows)), batch_size)


def epochs(X: Array, batch_size: int | None, kind: Batches, rng: np.random.Generator) -> Iterator[Rows | None]:
    """Batches without end; uniform ones go over all rows before a row comes again, in an order drawn each time.

    Batches of neighbours overlap by nature: an epoch of them is as many as go into n. Arguments are those of `draw`.
    """
    count = batches_per_epoch(len(X), batch_size)
    if kind == "nearest" or count == 1:
        yield from draw(X, None if count == 1 else batch_size, kind, rng)
    while True:
        yield from np.array_split(rng.permutation(len(X)), count)


class _Nearest:
    """Nearest rows, each input in units of its spread over these rows; a constant input counts for nothing."""

    def __init__(self, X: Array) -> None:
        spread = np.ptp(X, axis=0)
        self._scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)

    def of(self, row: int, count: int) -> Rows:
        """The row itself and those nearest to it, rising."""
        difference = self._scaled - self._scaled[row]
        distances = np.einsum("ij,ij->i", difference, difference)
        distances[row] = -1.0
        return np.sort(np.argpartition(distances, count - 1)[:count])
