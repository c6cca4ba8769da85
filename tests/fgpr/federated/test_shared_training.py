"""Training of theta and shares by the evidence of all rows: its gradient, and what it finds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.experiments.models import model
from fgpr.federated import shared_function, shared_training
from fgpr.federated.simulation import LocalData
from fgpr.federated.split_prior import Split
from fgpr.gp.covariance import Covariance
from fgpr.gp.hyperprior import LogNormal
from fgpr.gp.random_features import RandomFeatures

SPEC = model(2, "matern-3/2 + rbf(x1) * linear(x2)", -1.0, 1.0)
THETA = np.log([0.6, 0.2, 0.8, 1.1, 1.3, 0.7])
ODDS = np.array([0.4, 1.5])
"""Of the shares: 0.6 and 0.82."""


def _clients(sign: float, rows: tuple[int, ...] = (15, 9, 22)) -> list[LocalData]:
    rng = np.random.default_rng(2)
    found = []
    for number, count in enumerate(rows):
        X = rng.uniform(-1.0, 1.0, (count, 2))
        y = sign**number * np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=count)
        found.append(LocalData(f"client-{number}", X, y))
    return found


def _split(theta: np.ndarray, odds: np.ndarray) -> Split:
    shares = tuple((1.0 / (1.0 + np.exp(-odds))).tolist())
    return Split(SPEC, theta, shares, RandomFeatures.drawn(SPEC.correlation, theta, 40, 1))


def _dense(point: np.ndarray, clients: list[LocalData]) -> float:
    """-log p(y) from the covariance of all rows together, written out."""
    split = _split(point[:6], point[6:])
    phi = split.common(np.vstack([client.X for client in clients]))
    joint, start = phi @ phi.T, 0
    own = Covariance.at(SPEC.correlation, split.own_theta, 2)
    for client in clients:
        block = slice(start, start + client.y.size)
        placed = own.scaled(client.X, np.zeros(2))
        joint[block, block] += own.signal_variance * placed.cross(placed) + own.noise_variance * np.eye(client.y.size)
        start = block.stop
    y = np.concatenate([client.y for client in clients])
    return -float(multivariate_normal(np.zeros(y.size), joint).logpdf(y))


def test_clients_gradients_add_up_to_that_of_the_evidence_of_all_rows() -> None:
    clients = _clients(-1.0)
    found = shared_function.learned(_split(THETA, ODDS), clients)
    parts = [np.concatenate(shared_training.gradient_of(found, client)) for client in clients]
    point = np.concatenate([THETA, ODDS])
    differences = [
        (_dense(point + step, clients) - _dense(point - step, clients)) / 2e-5 for step in 1e-5 * np.eye(point.size)
    ]
    assert np.sum(parts, axis=0) == pytest.approx(differences, abs=2e-5)


def test_training_shares_what_is_alike_and_keeps_what_is_not() -> None:
    shares = {}
    for sign in (1.0, -1.0):
        clients = _clients(sign, (14, 14, 14, 14))
        found = shared_training.trained(SPEC, THETA, (0.5, 0.5), clients, 200, 0, 30)
        start = shared_function.learned(
            Split(SPEC, THETA, (0.5, 0.5), RandomFeatures.drawn(SPEC.correlation, THETA, 200, 0)), clients
        )
        assert found.loss < start.loss - 0.1
        # Each iteration of L-BFGS is one evaluation, rarely two; the first is the start's.
        assert 10 < found.evaluations < 62
        # What it says of itself holds.
        features = RandomFeatures.drawn(SPEC.correlation, found.theta, 200, 0)
        again = shared_function.learned(Split(SPEC, found.theta, found.shares, features), clients)
        assert again.loss == pytest.approx(found.loss, abs=1e-9)
        shares[sign] = found.shares[0]
    assert shares[1.0] > 0.95
    assert shares[-1.0] < 0.05


def test_training_says_whether_it_came_to_an_end() -> None:
    clients = _clients(1.0)
    assert not shared_training.trained(SPEC, THETA, (0.5, 0.5), clients, 40, 0, 2).converged
    assert shared_training.trained(SPEC, THETA, (0.5, 0.5), clients, 40, 0, 400).converged


def test_training_stays_inside_the_models_bounds() -> None:
    bounds = SPEC.bounds
    narrow = type(bounds)(bounds.names, bounds.lower, tuple(np.minimum(bounds.upper, THETA + 0.05).tolist()))
    spec = replace(SPEC, bounds=narrow)
    found = shared_training.trained(spec, THETA, (0.5, 0.5), _clients(1.0), 40, 0, 15)
    spec.bounds.check(found.theta)
    least, largest = shared_training.SHARE_RANGE
    assert all(least <= share <= largest for share in found.shares)


def test_what_cannot_be_is_refused() -> None:
    clients = _clients(1.0)
    with pytest.raises(DataError, match="no clients"):
        shared_training.trained(SPEC, THETA, (0.5, 0.5), [], 40, 0, 5)
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(DataError, match="a common share to start from"):
            shared_training.trained(SPEC, THETA, (0.5, share), clients, 40, 0, 5)
    with pytest.raises(DataError, match="1 common shares for the 2 terms"):
        shared_training.trained(SPEC, THETA, (0.5,), clients, 40, 0, 5)
    with pytest.raises(EncodingError, match="outside"):
        shared_training.trained(SPEC, THETA + 20.0, (0.5, 0.5), clients, 40, 0, 5)
    with pytest.raises(NumericalError, match="not finite"):
        shared_training.trained(
            SPEC, THETA, (0.5, 0.5), [LocalData("large", clients[0].X, np.full(15, 1e200))], 40, 0, 5
        )
    informed = replace(SPEC, priors=(LogNormal("noise sd", 0.1, 0.5),))
    with pytest.raises(DataError, match="a model with priors"):
        shared_training.trained(informed, THETA, (0.5, 0.5), clients, 40, 0, 5)
    rational = model(2, "rational-quadratic", -1.0, 1.0)
    with pytest.raises(EncodingError, match="cannot be trained"):
        shared_training.trained(rational, rational.initial_theta, (0.5,), clients, 40, 0, 5)
