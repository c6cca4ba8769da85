"""Who takes part in a round, and with which weight.

Three schemes, each with the average that belongs to it: all clients weighted by n_k; a uniform sample weighted by n_k;
a sample drawn in proportion to the declared n_k with a uniform average, as in Algorithm 1 of the FGPR paper. The paper
draws with replacement; without replacement a client is drawn at most once, which is what a service can ask of it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fgpr.errors import DataError


class Draw(NamedTuple):
    """The clients of one round.

    Attributes:
        clients: positions in the list of clients, rising, each once.
        weights: one a client drawn, for `fgpr.federated.fedavg.weighted_average`.
    """

    clients: tuple[int, ...]
    weights: tuple[int, ...]


Participation = Callable[[Sequence[int], np.random.Generator], Draw]
"""From the clients' numbers of observations n_k and a generator to a draw."""


def everyone(observations: Sequence[int], rng: np.random.Generator) -> Draw:  # noqa: ARG001 - nothing is drawn
    """All clients, weighted by n_k; those without observations are left out.

    Raises:
        DataError: nobody has observations.
    """
    return _weighted(observations, _eligible(observations))


def uniform_sample(size: int) -> Participation:
    """A scheme: `size` clients, each set equally likely, weighted by n_k."""

    def draw(observations: Sequence[int], rng: np.random.Generator) -> Draw:
        eligible = _eligible(observations, size)
        return _weighted(observations, rng.choice(eligible, size, replace=False).tolist())

    return draw


def proportional_sample(size: int, *, replacement: bool) -> Participation:
    """A scheme: `size` draws in proportion to n_k, averaged uniformly.

    Args:
        size: number of draws.
        replacement: True as in the paper: a client drawn twice trains once and counts twice. False takes the clients
            with the least -ln(u_k) / n_k, u_k uniform: the same law as drawing one after another.
    """

    def draw(observations: Sequence[int], rng: np.random.Generator) -> Draw:
        eligible = _eligible(observations, min(size, 1) if replacement else size)
        counts = np.array([observations[client] for client in eligible], dtype=np.float64)
        if replacement:
            drawn, times = np.unique(rng.choice(eligible, size, p=counts / counts.sum()), return_counts=True)
            return Draw(tuple(drawn.tolist()), tuple(times.tolist()))
        arrivals = rng.exponential(size=counts.size) / counts
        chosen = sorted(eligible[index] for index in np.argsort(arrivals)[:size])
        return Draw(tuple(chosen), (1,) * size)

    return draw


def _eligible(observations: Sequence[int], size: int = 1) -> list[int]:
    if size < 1:
        raise DataError(f"a sample of {size} clients: expected at least 1")
    if any(count < 0 for count in observations):
        raise DataError(f"client {min(range(len(observations)), key=observations.__getitem__)} has a negative count")
    eligible = [client for client, count in enumerate(observations) if count > 0]
    if len(eligible) < size:
        raise DataError(f"{len(eligible)} of {len(observations)} clients have observations: {size} are needed")
    return eligible


def _weighted(observations: Sequence[int], clients: Sequence[int]) -> Draw:
    ordered = tuple(sorted(clients))
    return Draw(ordered, tuple(observations[client] for client in ordered))
