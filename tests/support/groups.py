"""Federations of 25 clients in five groups, and what their rounds should give, in exact fractions."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from fgpr.auditlog.trail import Trail
from fgpr.federated.publication import PriorRecord
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from support.federation import Federation

FIVE = AggregationRules(gamma=0.08, groups=5, combine="median")
"""25 clients: five groups of five, of which four have to be there, two of them corrupt at most."""


def federation(rules: AggregationRules = FIVE, size: int = 25) -> Federation:
    made = Federation(size, rules, logs_all=True)
    for client in made.clients.values():
        client.floors = Floors(gamma=rules.gamma)
    return made


def audited(made: Federation) -> Trail:
    return made.verified()


def updates(made: Federation, seed: int = 3) -> dict[str, tuple[list[float], int]]:
    draws = np.random.default_rng(seed)
    return {name: (draws.uniform(-1, 1, 3).tolist(), int(draws.integers(1, 300))) for name in made.names}


def mean(given: Iterable[tuple[list[float], int]]) -> list[float]:
    rows = [([Fraction(value) for value in values], weight) for values, weight in given]
    total = sum(weight for _, weight in rows)
    return [float(sum(values[place] * weight for values, weight in rows) / total) for place in range(3)]


def averages(made: Federation, given: Mapping[str, tuple[list[float], int]]) -> np.ndarray:
    """The exact average of each counted group, shape [g, 3]."""
    state = made.now
    assert state.cohort is not None
    parts = state.plan.message.parts(state.cohort.message.clients())
    return np.array([mean([given[name] for name in part]) for part in parts if part])


def run(made: Federation, given: Mapping[str, tuple[list[float], int]]) -> PriorRecord:
    record = made.run(given)
    assert record is not None
    return record
