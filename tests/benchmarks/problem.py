"""What is timed: one likelihood with its gradient, and one prediction, at several sizes. Needs numpy alone.

The peers' process makes the same problem from the same seed, so that only sizes travel.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SIZES = ((8, 1), (32, 1), (100, 1), (100, 8), (256, 21), (512, 21), (1024, 21), (1850, 21))
"""Rows and inputs: batches of the paper's sizes up to all rows of a large client."""

QUICK_SIZES = ((8, 1), (100, 8), (256, 21))

KERNELS = ("rbf", "matern-3/2")

NEW_INPUTS = 1000

SIGNAL_SD = 1.2
NOISE_SD = 0.3


@dataclass(frozen=True)
class Problem:
    """One size and kernel; two processes that are given the same one make the same numbers of it."""

    kernel: str
    rows: int
    features: int

    @property
    def label(self) -> str:
        """As the report names it."""
        return f"{self.kernel} {self.rows}x{self.features}"

    @property
    def lengthscales(self) -> Floats:
        """One a feature, all different, growing with the number of features as distances do."""
        lengthscales: Floats = np.linspace(0.3, 0.6, self.features) * np.sqrt(self.features)
        return lengthscales

    @property
    def theta(self) -> Floats:
        """Logs of signal sd, noise sd and length-scales."""
        theta: Floats = np.log(np.r_[SIGNAL_SD, NOISE_SD, self.lengthscales])
        return theta

    def data(self) -> tuple[Floats, Floats, Floats]:
        """(X, y, new inputs)."""
        rng = np.random.default_rng((self.rows, self.features))
        X = rng.uniform(size=(self.rows, self.features))
        y = np.sin(X @ np.linspace(1.0, 5.0, self.features)) + NOISE_SD * rng.normal(size=self.rows)
        return X, y, rng.uniform(size=(NEW_INPUTS, self.features))


class Answer(NamedTuple):
    """What everyone has to agree on: -log likelihood, its gradient by theta, predictive mean and latent variance."""

    value: float
    gradient: list[float]
    mean: list[float]
    variance: list[float]


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Time of one piece of work, over that many without a pause."""
    start = perf_counter()
    for _ in range(repeats):
        work()
    return (perf_counter() - start) / repeats
