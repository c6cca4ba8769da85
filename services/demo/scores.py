"""How well new engines are predicted, and how well the best theta of all would do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from client_agent.predict import QUANTILE
from demo.fleet import Engine, Fleet, NewEngine
from fgpr.federated import pooled
from fgpr.gp.arrays import Array
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.model import ModelSpec
from fgpr.gp.posterior import condition
from fgpr.gp.scaling import TargetScaling


@dataclass(frozen=True)
class Score:
    """Errors of one theta over all new engines, in units of each engine's own standard deviation.

    Attributes:
        rmse: one a new engine.
        coverage_95: share of the hidden rows inside the 95 % observation band.
    """

    rmse: tuple[float, ...]
    coverage_95: float

    @property
    def mean(self) -> float:
        """Mean RMSE over the engines."""
        return float(np.mean(self.rmse))

    @property
    def sd(self) -> float:
        """Standard deviation of the RMSE over the engines."""
        return float(np.std(self.rmse))


def score(spec: ModelSpec, theta: Array, new: Sequence[NewEngine]) -> Score:
    """Condition every new engine on its known rows, without training, and predict its hidden ones."""
    errors, inside = [], []
    for engine in new:
        scaling = TargetScaling.fit(engine.known.values, spec.target.scaling)
        posterior = condition(
            spec.correlation, theta, _inputs(spec, engine.known), scaling.to_scaled(engine.known.values)
        )
        prediction = posterior.predict(_inputs(spec, engine.hidden))
        residual = scaling.to_scaled(engine.hidden.values) - prediction.mean
        errors.append(float(np.sqrt(np.mean(residual**2))))
        inside.append(np.abs(residual) <= QUANTILE * prediction.observation_sd)
    return Score(tuple(errors), float(np.mean(np.concatenate(inside))))


def optimum(spec: ModelSpec, fleet: Fleet) -> Array:
    """The theta that minimises the pooled objective of all clients: what no federation may compute."""
    workspace = Workspace()
    likelihoods = []
    for engine in fleet.clients:
        scaling = TargetScaling.fit(engine.values, spec.target.scaling)
        likelihoods.append(
            Likelihood(spec.correlation, _inputs(spec, engine), scaling.to_scaled(engine.values), workspace)
        )
    # Matrices of a few hundred rows: a second BLAS thread costs more than it gives.
    with threadpool_limits(1):
        return pooled.optimise(likelihoods, spec.bounds, [spec.initial_theta]).theta


def _inputs(spec: ModelSpec, engine: Engine) -> Array:
    return spec.arrange({spec.feature_names[0]: engine.cycles})
