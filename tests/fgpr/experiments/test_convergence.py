"""Examples 1 and 2 on few rows: distances are those from the theta that the data were drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from fgpr.experiments import convergence
from fgpr.experiments.convergence import ROUNDS
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.records import Cell
from fgpr.federated.simulation import LocalData, simulate
from fgpr.gp.arrays import Array


class _Seen:
    """What an example draws and how it is trained."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.law = np.zeros(0)
        self.kernel = ""
        self.drawn: Sequence[LocalData] = ()
        self.trained: Sequence[LocalData] = ()
        self.path = np.zeros((0, 0))
        monkeypatch.setattr(convergence, "gaussian_process", self._gaussian_process)
        monkeypatch.setattr(convergence, "simulate", self._simulate)

    def _gaussian_process(self, kernel: Any, theta: Array, *others: Any) -> tuple[LocalData, ...]:
        self.law, self.kernel = np.exp(theta), kernel.name
        self.drawn = found = gaussian_process(kernel, theta, *others)
        return found

    def _simulate(self, kernel: Any, data: Sequence[LocalData], theta: Array, *others: Any, **named: Any) -> Any:
        assert kernel.name == self.kernel
        self.trained = data
        history = simulate(kernel, data, theta, *others, **named)
        self.path = np.exp([theta, *(one.theta for one in history)])
        return history

    def check(self, values: Mapping[str, Any], kernel: str) -> None:
        assert self.kernel == kernel
        assert self.trained is self.drawn
        truth = np.array(values["truth"])
        assert truth == pytest.approx(self.law, rel=1e-5)
        assert truth.size == 2 + values["dimensions"] == 2 + self.trained[0].X.shape[1]
        # Of signal sd, noise sd and length-scales; the initial theta is 1, 0.5 and a quarter of each range.
        assert (truth >= [0.1, 0.01, *[0.01] * values["dimensions"]]).all()
        assert (truth <= [10.0, 1.0, *[1.0] * values["dimensions"]]).all()
        assert self.path[0] == pytest.approx([1.0, 0.5, *[0.25] * values["dimensions"]])
        assert len(self.path) == ROUNDS + 1
        assert values["end"] == pytest.approx(self.path[-1], rel=1e-5)
        assert values["noise"] == pytest.approx((self.path[:, 1] - self.law[1]) ** 2, rel=1e-5)
        assert values["theta"] == pytest.approx(((self.path - self.law) ** 2).sum(axis=1), rel=1e-5)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> _Seen:
    return _Seen(monkeypatch)


@pytest.mark.parametrize("variant", ["rbf", "matern-3/2"])
def test_clients_of_equal_size_are_measured_against_the_theta_of_their_data(
    variant: str, seen: _Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(convergence.SCENES, "K=20, N=5000", [20] * 3)
    values = convergence.example_1(Cell("example1", "K=20, N=5000", variant, "fgpr", 1))
    seen.check(values, variant)
    assert [client.y.size for client in seen.drawn] == [20] * 3


def test_clients_of_other_sizes_are_measured_against_the_theta_of_their_data(
    seen: _Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convergence, "MOST_ROWS", 60)
    monkeypatch.setattr(convergence, "UNBALANCED_CLIENTS", 5)
    values = convergence.example_2(Cell("example2", "K=20", "rbf", "fgpr", 1))
    seen.check(values, "rbf")
    assert sorted(client.y.size for client in seen.drawn) == values["rows"]
    assert len(set(values["rows"])) > 1
    assert 10 <= min(values["rows"]) <= max(values["rows"]) <= 60


def test_the_noise_of_an_example_comes_near_its_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(convergence.SCENES, "K=20, N=5000", [100] * 4)
    values = convergence.example_1(Cell("example1", "K=20, N=5000", "matern-3/2", "fgpr", 3))
    assert values["noise"][-1] < 0.1 * values["noise"][0]
