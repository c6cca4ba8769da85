"""A posterior is a value: any number of threads may ask it at once, from its first prediction on."""

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_by_neighbours
from fgpr.gp.posterior import Posterior, condition
from support.kernels import problem

THREADS = 4


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(posterior: AnyPosterior, new: Array) -> list[tuple[list[float], list[float]]]:
    """What threads say that all start together."""
    barrier = threading.Barrier(THREADS)
    said: list[tuple[list[float], list[float]]] = []

    def ask() -> None:
        barrier.wait()
        ours = posterior.predict(new)
        said.append((ours.mean.tolist(), ours.latent_variance.tolist()))

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize("text", ["rbf", "rbf + periodic"])
def test_first_predictions_at_once_are_all_the_same(text: str, grown: bool) -> None:
    kernel, X, y, theta = problem(text, 21, rows=420)
    X, y, new = X[:400], y[:400], X[400:403]

    def conditioned() -> Posterior:
        if grown:
            return condition(kernel, theta, X[:399], y[:399]).append(X[399:], y[399:])
        return condition(kernel, theta, X, y)

    alone = conditioned().predict(new)
    expected = (alone.mean.tolist(), alone.latent_variance.tolist())
    for _ in range(20):
        assert at_once(conditioned(), new) == [expected] * THREADS


def test_neighbours_at_once() -> None:
    kernel, X, y, theta = problem("rbf", 21, rows=420)
    posterior = condition_by_neighbours(kernel, theta, X[:400], y[:400], neighbours=20)
    alone = posterior.predict(X[400:])
    assert at_once(posterior, X[400:]) == [(alone.mean.tolist(), alone.latent_variance.tolist())] * THREADS


def test_what_a_posterior_holds_cannot_be_written() -> None:
    kernel, X, y, theta = problem("rbf", 2)
    posterior = condition(kernel, theta, X, y, noise=np.full(len(y), 0.1)).append(X[:1], y[:1], noise=0.2)
    rows = posterior.observations
    held = (rows.X, rows.y, rows.noise, posterior.factor, posterior.solution, posterior.centre)
    for array in (*held, posterior.covariance.theta):
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(array)[...] = 0.0
