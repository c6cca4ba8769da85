"""`Neural`: a network for all clients by FedAvg, and `Ditto`, which keeps one of each client's own beside it.

Ditto (Li et al. 2021): each client also descends F_k(v) + lambda / 2 |v - theta|^2 from its own v, and predicts by v.
Needs PyTorch: `make setup-paper`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgpr.errors import DataError
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

try:
    import torch
except ModuleNotFoundError:
    torch = None

LAYERS = (1, 2, 3, 4)
"""Depths that are tried where the depth is chosen."""

_CHOSEN_LAYERS = 2


@dataclass(frozen=True, slots=True)
class NeuralSettings:
    """How networks train.

    Attributes:
        layers: hidden ones.
        width: of each.
        rounds: R.
        steps: E, local steps a round.
        batch_size: rows a step.
        rate: of Adam at the first round; it falls along a cosine to a hundredth.
        proximity: lambda of Ditto.
    """

    layers: int = _CHOSEN_LAYERS
    width: int = 64
    rounds: int = 100
    steps: int = 10
    batch_size: int = 64
    rate: float = 3e-3
    proximity: float = 0.1


def torch_is_here() -> bool:
    """PyTorch is installed."""
    return torch is not None


def require_torch() -> None:
    """Nothing, if PyTorch is installed.

    Raises:
        DataError: it is not.
    """
    if torch is None:
        raise DataError("PyTorch is not installed, and this system needs it: run it in .venv-paper (make setup-paper)")


class Networks:
    """Networks of a federation.

    Args:
        clients: who trains.
        settings: how.
        seed: of weights and batches.
        personal: keep Ditto's networks too.

    Raises:
        DataError: PyTorch is not installed.
    """

    def __init__(
        self, clients: Sequence[LocalData], settings: NeuralSettings, seed: int, personal: bool = False
    ) -> None:
        require_torch()
        torch.manual_seed(seed)
        self._settings = settings
        dimensions = clients[0].X.shape[1]
        self._data = [_tensors(client.X, client.y) for client in clients]
        self._shared = _network(dimensions, settings)
        self._own = [_network(dimensions, settings) for _ in clients] if personal else []
        for own in self._own:
            own.load_state_dict(self._shared.state_dict())
        self._train()

    def predict(self, X: Array, client: int | None = None) -> Array:
        """By the shared network, or by a client's own one; shape (m,)."""
        network = self._shared if client is None else self._own[client]
        with torch.no_grad():
            mean: Array = network(torch.as_tensor(X, dtype=torch.float32)).squeeze(-1).numpy().astype(np.float64)
        return mean

    def _train(self) -> None:
        total = sum(len(y) for _, y in self._data)
        settings = self._settings
        local = _network(self._data[0][0].shape[1], settings)
        for number in range(settings.rounds):
            rate = settings.rate * (0.01 + 0.495 * (1.0 + np.cos(np.pi * number / settings.rounds)))
            theta = {name: value.clone() for name, value in self._shared.state_dict().items()}
            average = {name: torch.zeros_like(value) for name, value in theta.items()}
            for place, (X, y) in enumerate(self._data):
                local.load_state_dict(theta)
                self._steps(local, X, y, rate)
                for name, value in local.state_dict().items():
                    average[name] += value * (len(y) / total)
                if self._own:
                    self._steps(self._own[place], X, y, rate, theta)
            self._shared.load_state_dict(average)

    def _steps(self, network: Any, X: Any, y: Any, rate: float, near: dict[str, Any] | None = None) -> None:
        optimiser = torch.optim.Adam(network.parameters(), lr=float(rate))
        for _ in range(self._settings.steps):
            batch = torch.randint(len(y), (min(self._settings.batch_size, len(y)),))
            loss = torch.mean((network(X[batch]).squeeze(-1) - y[batch]) ** 2)
            if near is not None:
                distance = sum(((value - near[name]) ** 2).sum() for name, value in network.named_parameters())
                loss = loss + 0.5 * self._settings.proximity * distance
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def _network(dimensions: int, settings: NeuralSettings) -> Any:
    parts: list[Any] = []
    size = dimensions
    for _ in range(settings.layers):
        parts += [torch.nn.Linear(size, settings.width), torch.nn.Tanh()]
        size = settings.width
    return torch.nn.Sequential(*parts, torch.nn.Linear(size, 1))


def _tensors(X: Array, y: Array) -> tuple[Any, Any]:
    return torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)
