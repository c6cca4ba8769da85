"""`Neural`: a network for all clients by FedAvg, and `Ditto`, which keeps one of each client's own beside it.

Ditto (Li et al. 2021): each client also descends F_k(v) + lambda / 2 |v - theta|^2 from its own v, and predicts by v.
Needs PyTorch: `make setup-paper`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fgpr.errors import DataError
from fgpr.experiments.late import Late, installed
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

torch = Late("torch")


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

    layers: int = 2
    width: int = 64
    rounds: int = 100
    steps: int = 10
    batch_size: int = 64
    rate: float = 3e-3
    proximity: float = 0.1


def torch_is_here() -> bool:
    """PyTorch is installed."""
    return installed("torch")


def require_torch() -> None:
    """Nothing, if PyTorch is installed.

    Raises:
        DataError: it is not.
    """
    if not torch_is_here():
        raise DataError("PyTorch is not installed, and this system needs it: run it in .venv-paper (make setup-paper)")


class Networks:
    """Networks of a federation; all clients' ones train side by side, as layers of one batched product.

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
        self._settings = settings
        self._random = torch.Generator().manual_seed(seed)
        self._rows = torch.tensor([client.y.size for client in clients])
        most = int(self._rows.max())
        self._X = torch.stack([_padded(client.X, most) for client in clients])
        self._y = torch.stack([_padded(client.y, most) for client in clients])
        self._shared = _initial(clients[0].X.shape[1], settings, self._random)
        self._own = _copies(self._shared, len(clients)) if personal else []
        self._train()

    def predict(self, X: Array, client: int | None = None) -> Array:
        """By the shared network, or by a client's own one; shape (m,)."""
        network = self._shared if client is None else [part[client] for part in self._own]
        with torch.no_grad():
            rows = torch.as_tensor(X, dtype=torch.float32).unsqueeze(0)
            values = _forward([part.unsqueeze(0) for part in network], rows)
        mean: Array = values.squeeze(0).numpy().astype(np.float64)
        return mean

    def _train(self) -> None:
        settings = self._settings
        shares = self._rows / self._rows.sum()
        own = torch.optim.Adam(self._own) if self._own else None
        for number in range(settings.rounds):
            rate = settings.rate * (0.01 + 0.495 * (1.0 + float(np.cos(np.pi * number / settings.rounds))))
            local = _copies(self._shared, len(self._rows))
            self._steps(local, torch.optim.Adam(local), rate)
            if own is not None:
                self._steps(self._own, own, rate, self._shared)
            self._shared = [torch.einsum("k,k...->...", shares, part.detach()) for part in local]

    def _steps(self, networks: list[Any], optimiser: Any, rate: float, near: list[Any] | None = None) -> None:
        optimiser.param_groups[0]["lr"] = rate
        for _ in range(self._settings.steps):
            X, y = self._batch()
            # A sum over clients whose networks share nothing: each gets the gradient of its own loss.
            loss = ((_forward(networks, X) - y) ** 2).mean(dim=1).sum()
            if near is not None:
                distance = sum(((part - there) ** 2).sum() for part, there in zip(networks, near, strict=True))
                loss = loss + 0.5 * self._settings.proximity * distance
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _batch(self) -> tuple[Any, Any]:
        """Rows of each client, with replacement: shapes (K, M, d) and (K, M)."""
        draws = torch.rand(len(self._rows), self._settings.batch_size, generator=self._random)
        places = (draws * self._rows[:, None]).long().minimum(self._rows[:, None] - 1)
        clients = torch.arange(len(self._rows))[:, None]
        return self._X[clients, places], self._y[clients, places]


def _initial(dimensions: int, settings: NeuralSettings, random: Any) -> list[Any]:
    """Weights and biases of each layer in turn, uniform within one over the root of the layer's inputs."""
    sizes = [dimensions, *[settings.width] * settings.layers, 1]
    return [
        (2.0 * torch.rand(*shape, generator=random) - 1.0) / size**0.5
        for size, following in pairwise(sizes)
        for shape in ((size, following), (following,))
    ]


def _copies(network: Sequence[Any], count: int) -> list[Any]:
    return [part.expand(count, *part.shape).clone().requires_grad_() for part in network]


def _forward(networks: Sequence[Any], X: Any) -> Any:
    """Values of K networks, each at its own rows: (K, M, d) to (K, M)."""
    weights, biases = networks[::2], networks[1::2]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        X = torch.tanh(torch.baddbmm(bias.unsqueeze(1), X, weight))
    return torch.baddbmm(biases[-1].unsqueeze(1), X, weights[-1]).squeeze(-1)


def _padded(values: Array, rows: int) -> Any:
    """As float32, with zeros below that no batch draws."""
    found = torch.zeros(rows, *values.shape[1:])
    found[: len(values)] = torch.as_tensor(values, dtype=torch.float32)
    return found
