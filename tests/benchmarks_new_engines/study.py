"""New engines with few cycles: the federation's prior against what an engine's rows alone give.

Sixty engines learn the prior by the federated training of `fgpr.federated.simulation`; forty others come new. Of each
new engine the last twenty cycles are ahead, and so many of the cycles before, at random, are known. What is predicted
is the rest of those and the twenty ahead.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks_new_engines.polynomial import polynomial
from client_agent.cmapss import read_cmapss
from fgpr.federated.fine_tuning import fine_tune, fit_alone
from fgpr.federated.simulation import LocalData, simulate
from fgpr.gp.arrays import Array
from fgpr.gp.model import Feature, ModelSpec, Prior, Target
from fgpr.gp.own_scale import condition_own_scale
from fgpr.gp.posterior import condition
from fgpr.gp.scaling import TargetScaling
from fgpr.gp.training_settings import TrainingSettings

SENSORS = (2, 4, 7, 11)
SEEDS = (0, 1, 2, 3, 4)
COUNTS = (5, 10, 20, 50)
CLIENTS = 60
NEW = 40
ROUNDS = 12
AHEAD = 20
ROOM = 50

SERVED, SERVED_ROWS, TUNED, LOCAL, POLYNOMIAL = (
    "served prior",
    "served prior, scale of the rows",
    "served prior, fine-tuned",
    "GP of the rows alone",
    "polynomial",
)
METHODS = (SERVED, SERVED_ROWS, TUNED, LOCAL, POLYNOMIAL)


@dataclass(frozen=True)
class Outcome:
    """One method on one new engine.

    Attributes:
        method: one of `METHODS`.
        sensor: its number.
        seed: of the draw.
        engine: its number in the file.
        known: number of known cycles.
        rmse: over all that is predicted, in the sensor's typical sd (`typical_sd`).
        rmse_ahead: over the twenty cycles ahead alone.
        nlpd: mean negative log predictive density of the measurements, in the same unit, nats.
        coverage: share of measurements in the 95 % band.
    """

    method: str
    sensor: int
    seed: int
    engine: int
    known: int
    rmse: float
    rmse_ahead: float
    nlpd: float
    coverage: float


@dataclass(frozen=True, eq=False)
class Scaled:
    """Predictions in the target's own unit: normal, or Student t where there are degrees of freedom."""

    mean: Array
    scale: Array
    degrees: float = math.inf


def study(path: Path, sensor: int, seed: int, counts: tuple[int, ...] = COUNTS) -> Iterator[Outcome]:
    """Every method on every new engine of one draw.

    Args:
        path: a C-MAPSS file with at least a hundred engines.
        sensor: its number.
        seed: of the draw of engines and known cycles, and of the training.
        counts: numbers of known cycles.
    """
    rng = np.random.default_rng([seed, sensor])
    read = read_cmapss(path)
    lives = [read.engine(unit) for unit in read.engines]
    column = f"s{sensor}"
    order = rng.permutation(len(lives))[: CLIENTS + NEW]
    upper = ROOM * math.ceil(max(float(life["cycle"].max()) for life in lives) / ROOM)
    spec = ModelSpec.with_default_bounds(
        [Feature("cycle", "cycles", 0.0, float(upper))], Target(column, "1", "standardise"), "rbf"
    )
    own = [TargetScaling.fit(lives[place][column], "standardise") for place in order[:CLIENTS]]
    clients = [
        LocalData(f"engine-{place}", lives[place]["cycle"][:, np.newaxis], scaling.to_scaled(lives[place][column]))
        for place, scaling in zip(order[:CLIENTS], own, strict=True)
    ]
    rounds = simulate(
        spec.correlation,
        clients,
        spec.initial_theta,
        TrainingSettings(),
        spec.bounds,
        ROUNDS,
        np.random.default_rng(seed),
    )
    prior = Prior(spec, rounds[-1].theta, ROUNDS)
    # A fixed unit, from engines that trained: that of the known rows would reward whoever has a lucky one.
    typical_sd = float(np.mean([scaling.sd for scaling in own]))
    for place in order[CLIENTS:]:
        cycles, values = lives[place]["cycle"], lives[place][column]
        observed = cycles.size - AHEAD
        shuffled = rng.permutation(observed)
        for count in counts:
            known = np.sort(shuffled[:count])
            hidden = np.setdiff1d(np.arange(cycles.size), known)
            for method, said in predictions(prior, cycles[known], values[known], cycles[hidden]).items():
                error = values[hidden] - said.mean
                density = stats.t.logpdf(error / said.scale, said.degrees) - np.log(said.scale / typical_sd)
                inside = np.abs(error) <= stats.t.ppf(0.975, said.degrees) * said.scale
                yield Outcome(
                    method=method,
                    sensor=sensor,
                    seed=seed,
                    engine=int(place) + 1,
                    known=count,
                    rmse=_rms(error) / typical_sd,
                    rmse_ahead=_rms(error[hidden >= observed]) / typical_sd,
                    nlpd=-float(density.mean()),
                    coverage=float(inside.mean()),
                )


def predictions(prior: Prior, cycles: Array, values: Array, at: Array) -> dict[str, Scaled]:
    """What each method says from the known rows.

    Args:
        prior: as served.
        cycles: known ones, shape (n,).
        values: of the sensor there, shape (n,).
        at: cycles to predict, shape (m,).
    """
    spec = prior.spec
    scaling = TargetScaling.fit(values, spec.target.scaling)
    X, y, new = cycles[:, np.newaxis], scaling.to_scaled(values), at[:, np.newaxis]

    def of_rows(theta: Array) -> Scaled:
        there = condition(spec.correlation, theta, X, y).predict(new)
        return Scaled(scaling.to_original(there.mean), scaling.sd * there.observation_sd)

    def own_scale(theta: Array) -> Scaled:
        there = condition_own_scale(spec.correlation, theta, X, y).predict(new)
        return Scaled(scaling.to_original(there.mean), scaling.sd * there.observation_scale, there.degrees)

    return {
        SERVED: own_scale(prior.theta),
        SERVED_ROWS: of_rows(prior.theta),
        TUNED: own_scale(fine_tune(prior, X, y).theta),
        LOCAL: of_rows(fit_alone(spec, X, y).theta),
        POLYNOMIAL: Scaled(*polynomial(cycles, values, at)),
    }


def _rms(error: Array) -> float:
    return float(np.sqrt(np.mean(error**2)))
