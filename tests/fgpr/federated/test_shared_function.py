"""A federation that shares sums knows what one Gaussian process over all rows would know."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.experiments.models import model
from fgpr.federated import shared_function
from fgpr.federated.kernel_choice import likelihoods_of
from fgpr.federated.pooled import pooled_loss
from fgpr.federated.shared_function import Sums
from fgpr.federated.simulation import LocalData
from fgpr.federated.split_prior import Split
from fgpr.gp.posterior import condition
from fgpr.gp.random_features import RandomFeatures

SPEC = model(2, "matern-3/2 + rbf(x1) * linear(x2)", -1.0, 1.0)
THETA = np.log([0.6, 0.2, 0.8, 1.1, 1.3, 0.7])
NEW = np.random.default_rng(9).uniform(-1.0, 1.0, (7, 2))


def _clients(own: float = 0.3) -> list[LocalData]:
    rng = np.random.default_rng(2)
    found = []
    for number, rows in enumerate((15, 9, 22)):
        X = rng.uniform(-1.0, 1.0, (rows, 2))
        y = np.sin(2.0 * X[:, 0]) * X[:, 1] + own * number * X[:, 0] + 0.1 * rng.normal(size=rows)
        found.append(LocalData(f"client-{number}", X, y))
    return found


def _split(*shares: float, count: int = 40) -> Split:
    return Split(SPEC, THETA, shares, RandomFeatures.drawn(SPEC.correlation, THETA, count, 1))


def _own_covariance(split: Split, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(1 - rho_i) of each term, written out: a Matern-3/2 of both inputs, and an RBF of x1 times x2."""
    sd, _, first, second, other, length = np.exp(THETA)
    r = math.sqrt(3.0) * np.hypot(*((left[:, None] - right[None]) / [first, second]).transpose(2, 0, 1))
    one, two = left[:, :1] - right[:, :1].T, left[:, 1:] * right[:, 1:].T / 4.0
    rest = (1.0 - split.shares[0]) * sd**2 * (1.0 + r) * np.exp(-r)
    return np.asarray(rest + (1.0 - split.shares[1]) * other**2 * np.exp(-0.5 * (one / length) ** 2) * two)


def _joint(split: Split, clients: list[LocalData]) -> np.ndarray:
    """blockdiag(S_k) + Phi Phi', of all rows."""
    phi = split.common(np.vstack([client.X for client in clients]))
    joint, start = phi @ phi.T, 0
    for client in clients:
        block = slice(start, start + client.y.size)
        joint[block, block] += _own_covariance(split, client.X, client.X) + 0.2**2 * np.eye(client.y.size)
        start = block.stop
    return np.asarray(joint)


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.5, 0.5), (0.3, 0.99)])
def test_the_evidence_is_that_of_one_process_over_all_rows(shares: tuple[float, float]) -> None:
    clients, split = _clients(), _split(*shares)
    y = np.concatenate([client.y for client in clients])
    dense = -multivariate_normal(np.zeros(y.size), _joint(split, clients)).logpdf(y) / y.size
    assert shared_function.learned(split, clients).loss == pytest.approx(dense, abs=1e-8)


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.5, 0.5), (0.3, 0.99)])
def test_each_client_predicts_as_one_process_over_all_rows(shares: tuple[float, float]) -> None:
    clients, split = _clients(), _split(*shares)
    found, joint = shared_function.learned(split, clients), _joint(split, clients)
    y = np.concatenate([client.y for client in clients])
    phi, there = split.common(np.vstack([client.X for client in clients])), split.common(NEW)
    start = 0
    for client in clients:
        cross = phi @ there.T
        cross[start : start + client.y.size] += _own_covariance(split, client.X, NEW)
        start += client.y.size
        before = (there**2).sum(axis=1) + _own_covariance(split, NEW, NEW).diagonal()
        told = found.predict(client, NEW)
        assert told.mean == pytest.approx(cross.T @ np.linalg.solve(joint, y), abs=1e-8)
        variance = before - np.einsum("ij,ij->j", cross, np.linalg.solve(joint, cross))
        assert told.latent_variance == pytest.approx(variance, abs=1e-8)
        assert told.observation_variance == pytest.approx(variance + 0.04, abs=1e-8)


def test_without_a_common_share_it_is_fgpr() -> None:
    clients = _clients()
    found = shared_function.learned(_split(0.0, 0.0), clients)
    assert found.loss == pytest.approx(pooled_loss(likelihoods_of(SPEC, clients), THETA), rel=1e-12)
    for client in clients:
        alone = condition(SPEC.correlation, THETA, client.X, client.y).predict(NEW)
        assert found.predict(client, NEW).mean == pytest.approx(alone.mean, abs=1e-12)
        assert found.predict(client, NEW).latent_variance == pytest.approx(alone.latent_variance, abs=1e-12)


def test_the_server_needs_sums_alone() -> None:
    clients, split = _clients(), _split(0.9, 0.2)
    parts = [shared_function.sums_of(split, client) for client in clients]
    totals = (sum(part[place] for part in parts) for place in range(4))
    whole = Sums(*totals)  # type: ignore[arg-type]  # sums of what the fields are
    assert shared_function.solved(split, [whole]).mean == pytest.approx(
        shared_function.solved(split, parts).mean, abs=1e-10
    )


def test_evidence_shares_what_is_alike_and_keeps_what_is_not() -> None:
    rng = np.random.default_rng(0)
    alike, opposite = [], []
    for number in range(6):
        X = rng.uniform(-1.0, 1.0, (12, 2))
        noise = 0.1 * rng.normal(size=12)
        curve = np.sin(3.0 * X[:, 0])
        alike.append(LocalData(f"c{number}", X, curve + noise))
        opposite.append(LocalData(f"c{number}", X, (-1.0) ** number * curve + noise))
    common, own = (shared_function.chosen(SPEC, THETA, clients, 400, 0) for clients in (alike, opposite))
    assert common.split.shares == (0.99, 0.99)
    assert own.split.shares == (0.0, 0.0)
    truth = np.sin(3.0 * NEW[:, 0])
    alone = condition(SPEC.correlation, THETA, alike[0].X, alike[0].y).predict(NEW).mean
    errors = [np.sqrt(np.mean((mean - truth) ** 2)) for mean in (common.predict(alike[0], NEW).mean, alone)]
    assert errors[0] < 0.7 * errors[1]


def test_what_cannot_be_is_refused() -> None:
    clients, split = _clients(), _split(0.5, 0.5)
    with pytest.raises(DataError, match="no clients"):
        shared_function.learned(split, [])
    with pytest.raises(DataError, match="no shares"):
        shared_function.chosen(SPEC, THETA, clients, 20, 0, [])
    with pytest.raises(EncodingError, match="outside"):
        shared_function.chosen(SPEC, THETA + 20.0, clients, 20, 0)
    with pytest.raises(DataError, match="no rows"):
        shared_function.sums_of(split, LocalData("empty", np.empty((0, 2)), np.empty(0)))
    with pytest.raises(DataError, match="not a finite number"):
        shared_function.sums_of(split, LocalData("bad", NEW, np.full(7, np.nan)))
    with pytest.raises(NumericalError, match="not finite"):
        shared_function.sums_of(split, LocalData("large", NEW, np.full(7, 1e200)))
    part = shared_function.sums_of(split, clients[0])
    with pytest.raises(DataError, match="another size"):
        shared_function.solved(_split(0.5, 0.5, count=60), [part])
    with pytest.raises(NumericalError, match="not finite"):
        shared_function.solved(split, [part._replace(nats=math.inf)])
    with pytest.raises(NumericalError, match="not positive definite"):
        shared_function.solved(split, [part._replace(precision=-100.0 * np.eye(split.features.count))])
