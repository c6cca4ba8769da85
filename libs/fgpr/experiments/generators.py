"""Built-in data: functions drawn from a known Gaussian process, and the paper's sine curves."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky

from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.posterior import condition

_JITTER = 1e-10
"""Of the signal variance: smooth kernels on many points are singular to rounding."""


def gaussian_process(
    kernel: Kernel, theta: Array, rows: Sequence[int], dimensions: int, rng: np.random.Generator
) -> tuple[LocalData, ...]:
    """One client a number of rows, each with a function of its own from the same process; targets are not scaled.

    Args:
        kernel: of the process.
        theta: the truth, in the wire order.
        rows: of each client.
        dimensions: d; inputs are uniform in [0, 1]^d.
        rng: draws inputs, functions and noise.
    """
    clients = []
    noise_sd = float(np.exp(theta[NOISE]))
    for number, count in enumerate(rows, start=1):
        X = rng.random((count, dimensions))
        prior = condition(kernel, theta, np.empty((0, dimensions)), np.empty(0)).predict_jointly(X)
        covariance = prior.latent_covariance
        covariance[np.diag_indices(count)] += _JITTER * prior.signal_variance
        function = cholesky(covariance, lower=True) @ rng.standard_normal(count)
        clients.append(LocalData(f"client-{number:03d}", X, function + noise_sd * rng.standard_normal(count)))
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
