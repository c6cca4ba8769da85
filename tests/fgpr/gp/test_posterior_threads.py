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
