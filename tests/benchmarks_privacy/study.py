"""What privacy costs in accuracy: federations of real engines with and without noise, on engines that come new.

Clients train as in a federation; encoder, noise and decoder are the protocol's (`fgpr.federated.noised_average`).
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from demo import fleet, scores
from demo.fleet import Engine, Fleet
from fgpr.federated import accounting
from fgpr.federated.fedavg import uniform_average
from fgpr.federated.noised_average import NoisedAverage
from fgpr.federated.publication import codec_for
from fgpr.federated.simulation import Aggregate, LocalData, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.training_settings import TrainingSettings
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules

SENSOR = 4
CLIENTS = 60
NEW = 40
ROUNDS = 12
CLIP = 0.3
"""Shorter than most steps of an engine in five local steps: three quarters of all are shrunk to it."""
DELTA = 1e-5
GAMMA = 0.2
FILLED = 0.9
"""min_cohort over the invited: so many have to come, and their honest ones carry the noise."""
EPSILONS = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Outcome:
    """One federation.

    Attributes:
        parties: clients.
        epsilon: that was asked for; infinite without noise, 0 for the start value, from which nothing was learned.
        seed: of fleet and noise.
        multiplier: noise over clip; 0 without noise.
        rmse: on the hidden rows of new engines, in each engine's own standard deviations.
        coverage: of the 95 % observation band.
        moved: largest difference of a hyper-parameter, in log, from the federation without noise.
        spent: epsilon that the accounting counted.
        shrunk: share of the updates that were shrunk to the clip.
    """

    parties: int
    epsilon: float
    seed: int
    multiplier: float
    rmse: float
    coverage: float
    moved: float
    spent: float
    shrunk: float


def multiplier_for(epsilon: float, rounds: int, delta: float = DELTA) -> float:
    """The least noise multiplier, to five digits, with which so many rounds cost at most epsilon.

    A round costs 1 / (2 z^2), and epsilon grows with rho.
    """
    low, high = 1e-3, 1e4
    while high / low > 1 + 1e-5:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if accounting.epsilon(rounds / (2 * middle**2), delta) <= epsilon else (middle, high)
    return high


def study(path: Path, seed: int, share: int, epsilons: tuple[float, ...]) -> Iterator[Outcome]:
    """One fleet without noise and with each epsilon.

    Args:
        path: a C-MAPSS file.
        seed: of fleet, training and noise.
        share: parties an engine; each gets every share-th row.
        epsilons: for all rounds together.
    """
    engines = fleet.gather(path, SENSOR, CLIENTS, NEW, seed)
    spec = ModelSpec.with_default_bounds(
        [Feature(fleet.FEATURE, "cycles", 0.0, engines.upper)], Target(engines.sensor, "1", "standardise"), "rbf"
    )
    data = [_local(spec, part) for engine in engines.clients for part in _dealt(engine, share)]
    plain = _run(spec, data, seed, uniform_average)
    yield _outcome(spec, engines, plain, plain, len(data), math.inf, seed, None)
    yield _outcome(spec, engines, spec.initial_theta, plain, len(data), 0.0, seed, None)
    for epsilon in epsilons:
        noised = NoisedAverage(
            codec_for(spec, AggregationRules(weighting="uniform")),
            PrivacyRules(clip=CLIP, noise=multiplier_for(epsilon, ROUNDS), delta=DELTA),
            spec.initial_theta,
            math.ceil(FILLED * len(data)),
            GAMMA,
            random.Random(f"{seed} {epsilon}").randbytes,
        )
        theta = _run(spec, data, seed, noised)
        yield _outcome(spec, engines, theta, plain, len(data), epsilon, seed, noised)


def _run(spec: ModelSpec, data: list[LocalData], seed: int, aggregate: Aggregate) -> Array:
    rounds = simulate(
        spec.correlation,
        data,
        spec.initial_theta,
        TrainingSettings(),
        spec.bounds,
        ROUNDS,
        np.random.default_rng(seed),
        aggregate=aggregate,
    )
    return rounds[-1].theta


def _outcome(
    spec: ModelSpec,
    engines: Fleet,
    theta: Array,
    plain: Array,
    parties: int,
    epsilon: float,
    seed: int,
    noised: NoisedAverage | None,
) -> Outcome:
    score = scores.score(spec, theta, engines.new)
    return Outcome(
        parties=parties,
        epsilon=epsilon,
        seed=seed,
        multiplier=0.0 if noised is None else multiplier_for(epsilon, ROUNDS),
        rmse=score.mean,
        coverage=score.coverage_95,
        moved=float(np.abs(theta - plain).max()),
        spent=epsilon if noised is None else accounting.epsilon(noised.rho, DELTA),
        shrunk=0.0 if noised is None else noised.shrunk / (ROUNDS * parties),
    )


def _dealt(engine: Engine, share: int) -> list[Engine]:
    return [
        Engine(f"{engine.name}-{number}", engine.cycles[number::share], engine.values[number::share])
        for number in range(share)
    ]


def _local(spec: ModelSpec, engine: Engine) -> LocalData:
    scaling = TargetScaling.fit(engine.values, spec.target.scaling)
    return LocalData(engine.name, spec.arrange({fleet.FEATURE: engine.cycles}), scaling.to_scaled(engine.values))
