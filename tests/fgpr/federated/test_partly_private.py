"""Private entries stay private and pay where clients differ."""

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.federations import optimum
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model
from fgpr.federated import partly_private
from fgpr.federated.kernel_choice import likelihoods_of
from fgpr.federated.simulation import LocalData
from fgpr.gp.training_settings import TrainingSettings

TRAINING = TrainingSettings("adam", 0.1, decay=0.01, steps=5)
SPEC = model(1, "rbf")


@pytest.fixture(scope="module")
def clients() -> tuple[LocalData, ...]:
    rng = np.random.default_rng(1)
    quiet, loud = np.log([1.0, 0.05, 0.2]), np.log([1.0, 0.8, 0.2])
    one, two = (gaussian_process(SPEC.correlation, theta, [60], 1, rng)[0] for theta in (quiet, loud))
    return LocalData("quiet", one.X, one.y), LocalData("loud", two.X, two.y)


def _loss(clients: tuple[LocalData, ...], thetas: np.ndarray) -> float:
    return sum(part.value(theta).nats for part, theta in zip(likelihoods_of(SPEC, clients), thetas, strict=True))


def test_the_optimum_finds_each_clients_noise(clients: tuple[LocalData, ...]) -> None:
    found = partly_private.optimum(SPEC, clients, "noise")
    assert found.private.tolist() == [False, True, False]
    assert np.exp(found.thetas[:, 1]) == pytest.approx([0.05, 0.8], rel=0.35)
    assert found.thetas[0, [0, 2]] == pytest.approx(found.thetas[1, [0, 2]], abs=0.0)
    shared = optimum(SPEC, clients)
    assert _loss(clients, found.thetas) < _loss(clients, np.tile(shared.theta, (2, 1))) - 10.0


def test_no_step_from_the_optimum_is_better(clients: tuple[LocalData, ...]) -> None:
    found = partly_private.optimum(SPEC, clients, "both")
    best = _loss(clients, found.thetas)
    for client, entry in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for step in (-0.05, 0.05):
            moved = found.thetas.copy()
            moved[client, entry] += step
            assert _loss(clients, moved) > best - 1e-4
    for step in (-0.05, 0.05):
        moved = found.thetas.copy()
        moved[:, 2] += step
        assert _loss(clients, moved) > best - 1e-4


def test_rounds_share_the_lengthscale_alone(clients: tuple[LocalData, ...]) -> None:
    found = partly_private.averaged(SPEC, clients, "both", TRAINING, 25, np.random.default_rng(0))
    assert found.thetas[0, 2] == found.thetas[1, 2]
    assert np.exp(found.thetas[:, 1]) == pytest.approx([0.05, 0.8], rel=0.4)
    assert _loss(clients, found.thetas) == pytest.approx(
        _loss(clients, partly_private.optimum(SPEC, clients, "both").thetas), abs=3.0
    )


def test_what_cannot_be_kept_and_no_clients_are_refused(clients: tuple[LocalData, ...]) -> None:
    with pytest.raises(DataError, match="expected 'signal', 'noise', 'both'"):
        partly_private.optimum(SPEC, clients, "length-scale")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(DataError, match="no clients"):
        partly_private.averaged(SPEC, [], "both", TRAINING, 1, np.random.default_rng(0))
