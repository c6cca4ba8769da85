"""`Deep`: a multi-fidelity deep Gaussian process, which needs all data in one place (Cutajar et al. 2019).

The lowest level is a Gaussian process of x; each higher one of x and the level below at x, with the covariance
k_rho(x) (k_linear(f) + k_f(f)) + k_delta(x). All levels are sparse variational processes with their own rows as
inducing inputs, trained together on the sum of their bounds. Needs PyTorch and GPyTorch: `make setup-paper`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgpr.errors import DataError
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

try:
    # What GPyTorch imports uses parts of PyTorch that are going out: no matter of whoever runs this.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gpytorch
        import torch
except ModuleNotFoundError:
    gpytorch = None
    torch = None

_START_JITTER = 1e-2
"""Added to the covariance that the start is whitened by: without it smooth covariances make the start rough."""


@dataclass(frozen=True, slots=True)
class DeepSettings:
    """How the bound is climbed.

    Attributes:
        fixed_steps: Adam steps with the noise and the variational spread still held small, so that levels come to
            explain their data before they explain it as noise.
        steps: those after.
        rate: of Adam.
        samples: of the level below, a step.
    """

    fixed_steps: int = 400
    steps: int = 1200
    rate: float = 0.02
    samples: int = 4


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
        seed: of all draws.
        settings: of the training.

    Raises:
        DataError: GPyTorch is not installed.
    """
    if gpytorch is None or torch is None:
        raise DataError("GPyTorch is not installed, and `Deep` needs it: run it in .venv-paper (make setup-paper)")
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    try:
        levels = [(torch.as_tensor(client.X), torch.as_tensor(client.y)) for client in reversed(clients)]
        model = _Levels(levels)
        model.train_on(levels, settings)
        mean: Array = model.mean(torch.as_tensor(X))
        return mean
    finally:
        torch.set_default_dtype(torch.float32)


def _scaled(kernel: Any, variance: float) -> Any:
    scaled = gpytorch.kernels.ScaleKernel(kernel)
    scaled.outputscale = variance
    return scaled


def _rbf(dims: list[int], length: float) -> Any:
    kernel = gpytorch.kernels.RBFKernel(ard_num_dims=len(dims), active_dims=dims)
    kernel.lengthscale = length
    return kernel


def _covariance(dimensions: int, lowest: bool) -> Any:
    inputs = list(range(dimensions))
    delta = _scaled(_rbf(inputs, 0.4), 1.0 if lowest else 0.1)
    if lowest:
        return delta
    below = gpytorch.kernels.LinearKernel(active_dims=[dimensions])
    below.variance = 1.0
    through = below + _scaled(_rbf([dimensions], 1.0), 0.1)
    return _rbf(inputs, 1.5) * through + delta


class _Levels:
    """The levels' sparse processes, lowest first, and their noises."""

    def __init__(self, levels: list[tuple[Any, Any]]) -> None:
        dimensions = levels[0][0].shape[1]
        self._layers = []
        for number, (X, y) in enumerate(levels):
            # A level's own targets stand for the level below in its inducing inputs: close where levels agree.
            points = X if number == 0 else torch.cat([X, y[:, None]], dim=1)
            self._layers.append(_layer(points, y, _covariance(dimensions, lowest=number == 0)))
        self._likelihoods = [gpytorch.likelihoods.GaussianLikelihood() for _ in levels]
        for likelihood in self._likelihoods:
            likelihood.noise = 1e-3

    def train_on(self, levels: list[tuple[Any, Any]], settings: DeepSettings) -> None:
        kernels = [value for layer in self._layers for value in layer.hyperparameters()]
        means = [v for layer in self._layers for n, v in layer.named_variational_parameters() if "mean" in n]
        others = [v for layer in self._layers for n, v in layer.named_variational_parameters() if "mean" not in n]
        noises = [value for likelihood in self._likelihoods for value in likelihood.parameters()]
        for steps, parameters in (
            (settings.fixed_steps, kernels + means),
            (settings.steps, kernels + means + others + noises),
        ):
            optimiser = torch.optim.Adam(parameters, lr=settings.rate)
            decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1), settings.rate / 20.0)
            for _ in range(steps):
                optimiser.zero_grad()
                loss = -self._bound(levels, settings.samples)
                loss.backward()
                optimiser.step()
                decay.step()

    def _bound(self, levels: list[tuple[Any, Any]], samples: int) -> Any:
        total = torch.zeros(())
        for number, (X, y) in enumerate(levels):
            *below, top = self._layers[: number + 1]
            inputs = X
            for layer in below:
                inputs = self._lifted(X, layer(inputs), samples)
            total = total + self._likelihoods[number].expected_log_prob(y, top(inputs)).sum(-1).mean()
        # Last: a call of a layer renews what its divergence is kept from.
        divergence = sum(layer.variational_strategy.kl_divergence() for layer in self._layers)
        return (total - divergence) / sum(len(y) for _, y in levels)

    def mean(self, X: Any, samples: int = 32) -> Array:
        with torch.no_grad():
            inputs = X
            for layer in self._layers[:-1]:
                inputs = self._lifted(X, layer(inputs), samples)
            mean = self._layers[-1](inputs).mean
            averaged: Array = (mean if mean.dim() == 1 else mean.mean(0)).numpy()
        return np.asarray(averaged, dtype=np.float64)

    @staticmethod
    def _lifted(X: Any, below: Any, samples: int) -> Any:
        """Inputs of the level above, shape (samples, n, d + 1): x and a draw of the level below at each x alone."""
        spread = below.variance.clamp_min(1e-12).sqrt()
        mean = below.mean
        shape = (samples, *mean.shape) if mean.dim() == 1 else mean.shape
        drawn = mean + spread * torch.randn(shape)
        return torch.cat([X.expand(drawn.shape[0], *X.shape), drawn[..., None]], dim=-1)


def _layer(points: Any, y: Any, covariance: Any) -> Any:
    class Layer(gpytorch.models.ApproximateGP):  # type: ignore[misc]  # a class of a package without types
        """One level."""

        def __init__(self) -> None:
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points), mean_init_std=0.0)
            super().__init__(
                gpytorch.variational.VariationalStrategy(
                    self, points.clone(), distribution, learn_inducing_locations=False
                )
            )
            self.covariance = covariance

        def forward(self, X: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(X.new_zeros(X.shape[:-1]), self.covariance(X))

    layer = Layer()
    strategy = layer.variational_strategy
    # Whitened: the process starts at its own targets.
    with torch.no_grad():
        gram = covariance(points).to_dense()
        root = torch.linalg.cholesky(gram + _START_JITTER * torch.eye(len(points)))
        white = torch.linalg.solve_triangular(root, y[:, None], upper=False).squeeze(-1)
    strategy._variational_distribution.variational_mean.data.copy_(white)
    strategy._variational_distribution.chol_variational_covar.data.copy_(0.03 * torch.eye(len(points)))
    strategy.variational_params_initialized.fill_(1)
    return layer
