"""Built-in data: functions drawn from a known Gaussian process, and the paper's sine curves."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dtrmv

from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.cholesky import JITTER_LIMIT
from fgpr.gp.covariance import Covariance
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.memory import check_memory


def gaussian_process(
    kernel: Kernel, theta: Array, rows: Sequence[int], dimensions: int, rng: np.random.Generator
) -> tuple[LocalData, ...]:
    """One client a number of rows, each with a function of its own from the same process; targets are not scaled.

    Targets are drawn from their joint normal law, exactly and for every kernel: its Cholesky factor, in one matrix,
    times standard normals. 10,000 rows take 0.8 GB and n^3 / 3 operations, once.

    Args:
        kernel: of the process.
        theta: the truth, in the wire order.
        rows: of each client.
        dimensions: d; inputs are uniform in [0, 1]^d.
        rng: draws inputs and targets.

    Raises:
        DataError: a client's matrix would take more memory than one may.
    """
    law = Covariance.at(kernel, theta, dimensions)
    clients = []
    for number, count in enumerate(rows, start=1):
        check_memory(count)
        X = rng.random((count, dimensions))
        factor, _ = law.factor(X, np.full(dimensions, 0.5), law.noise_variance, JITTER_LIMIT)
        y = np.sqrt(law.signal_variance) * dtrmv(factor, rng.standard_normal(count), lower=1)
        clients.append(LocalData(f"client-{number:03d}", X, y))
    return tuple(clients)


def opposite_sines(rows: int = 100) -> tuple[LocalData, LocalData]:
    """Two clients on [0, 10], one with sin x and the other with -sin x."""
    x = np.linspace(0.0, 10.0, rows)
    return LocalData("plus", x[:, np.newaxis], np.sin(x)), LocalData("minus", x[:, np.newaxis], -np.sin(x))


def noisy_sine(rng: np.random.Generator, rows: int = 100, noise_variance: float = 0.2) -> tuple[LocalData, LocalData]:
    """Two clients of y = sin x + noise on [0, 1] (the paper's Example 3)."""

    def one(name: str) -> LocalData:
        x = rng.random(rows)
        return LocalData(name, x[:, np.newaxis], np.sin(x) + np.sqrt(noise_variance) * rng.standard_normal(rows))

    return one("first"), one("second")
