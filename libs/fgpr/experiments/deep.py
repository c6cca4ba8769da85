"""`Deep`: a multi-fidelity deep Gaussian process, which needs all data in one place. Needs PyTorch and GPyTorch.

The lowest level is a Gaussian process of x; each higher one of x and the level below at x, with the covariance
k_rho(x) (k_linear(f) + k_f(f)) + k_delta(x) of Cutajar et al. (2019). Levels are trained one after another, each by its
exact marginal likelihood with the mean of the level below as an input (Perdikaris et al. 2017): stochastic bounds on
all levels at once take ten times as long. Predictions carry draws of the levels below upwards.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgpr.errors import DataError, NumericalError
from fgpr.experiments.descents import best_descent
from fgpr.experiments.late import Late, installed, load_installed
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

gpytorch, linear_operator, torch = Late("gpytorch"), Late("linear_operator"), Late("torch")

_RAW = 20.0
"""Largest size of a parameter before GPyTorch's softplus."""


@dataclass(frozen=True, slots=True)
class DeepSettings:
    """How levels are trained and predict.

    Attributes:
        lengths: length-scales that descents start from, in sides of the unit cube.
        noise_floor: least variance of the noise, that of the other systems.
        samples: draws of the levels below in a prediction.
    """

    lengths: tuple[float, ...] = (0.4, 1.0, 0.15)
    noise_floor: float = 1e-4
    samples: int = 32


def library_errors() -> tuple[type[Exception], ...]:
    """What PyTorch and GPyTorch raise where a computation has no finite answer; nothing until they are loaded."""
    found: list[type[Exception]] = []
    if sys.modules.get("torch"):
        found.append(torch.linalg.LinAlgError)
    if sys.modules.get("linear_operator"):
        found += [linear_operator.utils.errors.NanError, linear_operator.utils.errors.NotPSDError]
    return tuple(found)


def deep_mean(
    clients: Sequence[LocalData],
    X: Array,
    seed: int,
    settings: DeepSettings = DeepSettings(),
) -> Array:
    """Train, and the mean of the highest fidelity at new inputs, shape (m,).

    Args:
        clients: the highest fidelity first; targets scaled, inputs in the unit cube.
        X: new inputs.
        seed: of the draws.
        settings: of training and prediction.

    Raises:
        DataError: GPyTorch is not installed.
        NumericalError: no start of a level leads to a finite likelihood.
    """
    if not installed("gpytorch", "torch"):
        raise DataError("GPyTorch is not installed, and `Deep` needs it: run it in .venv-paper (make setup-paper)")
    # Now, and not when the default type is another one.
    load_installed("torch", "gpytorch")
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    try:
        levels: list[Any] = []
        for client in reversed(clients):
            points = torch.as_tensor(client.X)
            levels.append(_trained(_lifted(levels, points, 0), torch.as_tensor(client.y), bool(levels), settings))
        with torch.no_grad():
            means = levels[-1](_lifted(levels[:-1], torch.as_tensor(X), settings.samples)).mean
        averaged: Array = means.reshape(-1, len(X)).mean(0).numpy()
        return averaged
    finally:
        torch.set_default_dtype(torch.float32)


def _lifted(levels: Sequence[Any], X: Any, samples: int) -> Any:
    """Inputs of the level above these: x, and the last of them at x; shape (n, d + 1), or (n, d) above none.

    Args:
        levels: the trained ones, lowest first.
        X: shape (n, d).
        samples: draws of each level at each x alone, as a first axis of the inputs; 0 for means, without that axis.
    """
    inputs = X
    with torch.no_grad():
        for level in levels:
            found = level(inputs)
            values = found.mean
            if samples:
                values = values + found.variance.clamp_min(0.0).sqrt() * torch.randn(samples, len(X))
            inputs = torch.cat([X.expand(*values.shape, X.shape[1]), values[..., None]], dim=-1)
    return inputs


def _trained(points: Any, y: Any, upper: bool, settings: DeepSettings) -> Any:
    """One level at the optimum of its marginal likelihood."""
    level = _level(points, y, settings.noise_floor)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(level.likelihood, level)
    starts = []
    for length in settings.lengths:
        level.covariance = _covariance(points.shape[1], upper, length)
        level.likelihood.noise = 1e-2
        starts.append(torch.nn.utils.parameters_to_vector(level.parameters()).detach().numpy().copy())

    def objective(raw: Array) -> tuple[float, Array]:
        _set(level, raw)
        level.zero_grad()
        try:
            loss = -evidence(level(points), y)
            loss.backward()
        except library_errors() as error:
            raise NumericalError(f"a level of Deep: {error}") from error
        return loss.item(), np.concatenate([value.grad.reshape(-1).numpy() for value in level.parameters()])

    box = np.full(starts[0].size, _RAW)
    level.train()
    _set(level, best_descent(objective, starts, -box, box, tolerance=1e-4).theta)
    return level.eval()


def _set(level: Any, raw: Array) -> None:
    torch.nn.utils.vector_to_parameters(torch.as_tensor(raw), level.parameters())


def _scaled(kernel: Any, variance: float) -> Any:
    scaled = gpytorch.kernels.ScaleKernel(kernel)
    scaled.outputscale = variance
    return scaled


def _rbf(dims: list[int], length: float) -> Any:
    kernel = gpytorch.kernels.RBFKernel(ard_num_dims=len(dims), active_dims=dims)
    kernel.lengthscale = length
    return kernel


def _covariance(columns: int, upper: bool, length: float) -> Any:
    """Of the lowest level, or of an upper one, whose last column is the level below."""
    below = columns - 1
    if not upper:
        return _scaled(_rbf(list(range(columns)), length), 1.0)
    inputs = list(range(below))
    through = gpytorch.kernels.LinearKernel(active_dims=[below])
    through.variance = 1.0
    bent = _scaled(_rbf([below], 1.0), 0.1)
    return _rbf(inputs, 1.5) * (through + bent) + _scaled(_rbf(inputs, length), 0.1)


def _level(points: Any, y: Any, noise_floor: float) -> Any:
    base: Any = gpytorch.models.ExactGP

    class Level(base):  # type: ignore[misc]  # a class of a package without types
        """One level; its covariance is set by who trains it."""

        covariance: Any

        def forward(self, X: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(X.new_zeros(X.shape[:-1]), self.covariance(X))

    constraint = gpytorch.constraints.GreaterThan(noise_floor)
    return Level(points, y, gpytorch.likelihoods.GaussianLikelihood(noise_constraint=constraint))
