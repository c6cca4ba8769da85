"""A federation of engines in memory, some of whose clients lie in range; averages go through the real masked protocol.

Each round draws its own roster, keys, deal and boxes, checks the plan, opens the cohort, combines (`masked_average`).
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from demo import scores
from demo.aggregator_process import federation_of
from demo.fleet import Fleet
from fgpr.federated.fedavg import Contribution
from fgpr.federated.masked_average import masked_average
from fgpr.federated.publication import codec_for
from fgpr.federated.simulation import LocalData, simulate
from fgpr.federated.trust_region import overstepped
from fgpr.gp.arrays import Array
from fgpr.gp.scaling import TargetScaling
from fgpr.secagg.encoding import Codec
from fgpr.secagg.planning import AggregationRules

SHIFT = 0.3
"""Log units by which the subtle liar moves every number."""

Lie = Callable[[Contribution, Array, Codec], Contribution]
"""From what a client trained and the present theta to what it sends, in range: what is not may be refused."""


def at_a_bound(made: Contribution, theta: Array, codec: Codec) -> Contribution:
    """Every number at the bound that is farther away, with the largest weight."""
    lower, upper = np.array(codec.lower), np.array(codec.upper)
    return made._replace(theta=np.where(upper - theta > theta - lower, upper, lower), weight=codec.weight_cap)


def shifted(made: Contribution, _theta: Array, codec: Codec) -> Contribution:
    """Every number higher than what was trained, by as much as no one would look at twice, with the largest weight."""
    return made._replace(theta=np.asarray(made.theta) + SHIFT, weight=codec.weight_cap)


LIES: dict[str, Lie] = {"everything at a bound": at_a_bound, f"shifted by {SHIFT:g}": shifted}


@dataclass(frozen=True)
class Outcome:
    """Where a run ended.

    Attributes:
        theta: shape [L].
        fired: how many rounds the trust region refused.
        rmse: mean over the engines that did not train, in units of their own standard deviations.
    """

    theta: Array
    fired: int
    rmse: float


def run(
    fleet: Fleet, rules: AggregationRules, liars: Sequence[str], lie: Lie | None, rounds: int, seed: int
) -> Outcome:
    """Train, lie, mask, open, combine, for so many rounds; a refused average leaves the theta as it was."""
    federation = federation_of(fleet, rounds, 60.0, rules)
    spec, codec = federation.spec(), codec_for(federation.spec(), rules)
    average = masked_average(codec, random.Random(seed).randbytes, rules)
    theta, fired = spec.initial_theta, 0

    def aggregate(contributions: Sequence[Contribution]) -> Array:
        nonlocal theta, fired
        sent = [lie(made, theta, codec) if lie and made.client in liars else made for made in contributions]
        candidate = average(sent)
        if overstepped(codec.names, theta, candidate, rules.largest_step) is None:
            theta = candidate
        else:
            fired += 1
        return theta

    data = []
    for engine in fleet.clients:
        scaling = TargetScaling.fit(engine.values, spec.target.scaling)
        X = spec.arrange({spec.feature_names[0]: engine.cycles})
        data.append(LocalData(engine.name, X, scaling.to_scaled(engine.values)))
    simulate(
        spec.correlation,
        data,
        theta,
        federation.training_settings(),
        spec.bounds,
        rounds,
        np.random.default_rng(seed),
        aggregate=aggregate,
    )
    return Outcome(theta, fired, scores.score(spec, theta, fleet.new).mean)
