"""Predicting for one device: the published prior, conditioned on the device's own rows. Nothing leaves the device.

The band is that of a new measurement: mean -+ 1.96 times the standard deviation of function and noise together. Where
the device's own scale is estimated, it is a Student t's, and wider (`fgpr.gp.own_scale`).
"""

import math
from dataclasses import dataclass

import numpy as np

from client_agent import local_data
from client_agent.local_data import Columns, LocalRows
from fgpr.errors import DataError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_within_memory
from fgpr.gp.memory import MEMORY_LIMIT
from fgpr.gp.model import Feature, ModelSpec, Prior
from fgpr.gp.own_scale import OwnScalePosterior, condition_own_scale
from fgpr.gp.posterior import Posterior, condition
from fgpr.gp.prediction import Method

QUANTILE = 1.959963984540054
"""Of the standard normal distribution at 0.975."""

MOST_POINTS = 1_000_000
"""Most inputs of one grid."""


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Predictions at m inputs, in the units of the federation's features and target.

    Attributes:
        features: names of the inputs.
        inputs: shape (m, d).
        mean: shape (m,).
        sd_latent: of the function without noise, shape (m,).
        sd_observation: of a new measurement, shape (m,).
        lower_95: lower end of the band of a new measurement, shape (m,).
        upper_95: its upper end, shape (m,).
        method: how they were made: from all rows at once, or from those nearest to each input.
        quantile: the band is mean -+ this times sd_observation.
    """

    features: tuple[str, ...]
    inputs: Array
    mean: Array
    sd_latent: Array
    sd_observation: Array
    lower_95: Array
    upper_95: Array
    method: Method
    quantile: float = QUANTILE


@dataclass(frozen=True, eq=False)
class Device:
    """A prior conditioned on one device's rows; made by `condition_on`.

    Attributes:
        prior: theta is the one conditioned with, the served one or one that was fitted to the rows.
        rows: the device's own.
        posterior: what follows.
        own_scale: what follows where the device's own mean and scale are estimated; None where they are those of the
            rows.
    """

    prior: Prior
    rows: LocalRows
    posterior: AnyPosterior
    own_scale: OwnScalePosterior | None = None

    @property
    def spec(self) -> ModelSpec:
        """The model."""
        return self.prior.spec

    def predict(self, at: Columns) -> PredictedRows:
        """Mean and band at these inputs.

        Args:
            at: the inputs, by name.

        Raises:
            DataError: a column is missing, or a value cannot be used; names the row.
            NumericalError: the prediction has no finite value.
        """
        inputs, scaling = self.spec.arrange(at), self.rows.scaling
        quantile, method = QUANTILE, self.posterior.method
        if self.own_scale is None:
            normal = self.posterior.predict(inputs)
            centre, latent, observation = normal.mean, normal.latent_variance, normal.observation_variance
        else:
            student = self.own_scale.predict(inputs)
            centre, latent, observation = student.mean, student.latent_scale**2, student.observation_scale**2
            quantile = student.quantile(0.975)
        mean = scaling.to_original(centre)
        sd_latent = np.sqrt(scaling.variance_to_original(latent))
        sd_observation = np.sqrt(scaling.variance_to_original(observation))
        half = quantile * sd_observation
        names = self.spec.feature_names
        return PredictedRows(names, inputs, mean, sd_latent, sd_observation, mean - half, mean + half, method, quantile)

    def draw(self, at: Columns, count: int, rng: np.random.Generator) -> Array:
        """Whole trends without noise, in the target's unit, shape (count, m).

        Raises:
            DataError: as `predict`; also where there are too many rows for a joint distribution.
            NumericalError: as `predict`.
        """
        inputs = self.spec.arrange(at)
        if self.own_scale is not None:
            return self.rows.scaling.to_original(self.own_scale.sample(inputs, count, rng))
        if not isinstance(self.posterior, Posterior):
            raise DataError(f"{self.rows.y.size} rows are too many to draw whole trends: give the newest ones alone")
        return self.rows.scaling.to_original(self.posterior.predict_jointly(inputs).sample(count, rng))

    def told_by_rows(self, at: Columns) -> Array:
        """Share of the function's variance that the rows explain at these inputs, 0 to 1; raises as `predict`."""
        inputs = self.spec.arrange(at)
        before = condition(self.spec.correlation, self.prior.theta, np.empty((0, inputs.shape[1])), []).predict(inputs)
        after = self.posterior.predict(inputs)
        share: Array = 1.0 - after.latent_variance / before.latent_variance
        return share


def condition_on(prior: Prior, rows: LocalRows, memory_limit: int = MEMORY_LIMIT, own_scale: bool = False) -> Device:
    """Condition a prior on one device's rows.

    Args:
        prior: the published one, or one with a theta of the device's own.
        rows: scaled as the model says (`local_data.arrange`).
        memory_limit: bytes; where the matrix of all rows does not fit, each input is predicted from the nearest rows.
        own_scale: estimate the device's mean and scale, where two rows differ and all fit into one matrix. Else they
            are those of the rows.

    Raises:
        NumericalError: theta and rows give no posterior.
    """
    posterior = condition_within_memory(prior.spec.correlation, prior.theta, rows.X, rows.y, memory_limit=memory_limit)
    scaled = None
    if own_scale and isinstance(posterior, Posterior) and not rows.scaling.constant:
        scaled = condition_own_scale(prior.spec.correlation, prior.theta, rows.X, rows.y, memory_limit)
    return Device(prior, rows, posterior, scaled)


def predict(
    prior: Prior, own: Columns, at: Columns, target: str | None = None, memory_limit: int = MEMORY_LIMIT
) -> PredictedRows:
    """Condition a prior on one device's rows and predict.

    Args:
        prior: the published one.
        own: the device's rows: features and target, by name.
        at: the inputs to predict at, by name.
        target: the column of the target, where it has another name than in the model.
        memory_limit: as in `condition_on`.

    Raises:
        DataError: no rows, a column is missing, or a value cannot be used; names the row.
        NumericalError: the prediction has no finite value.
    """
    return condition_on(prior, local_data.arrange(prior.spec, own, target), memory_limit).predict(at)


def grid(spec: ModelSpec, start: float, stop: float, step: float) -> Columns:
    """Inputs from `start` to `stop`, both included where the step hits them, for a model with one feature.

    Raises:
        DataError: several features, a step that is not above 0, a stop below the start, or too many points.
    """
    feature = only_feature(spec)
    if not (math.isfinite(start) and math.isfinite(stop) and math.isfinite(step) and step > 0 and start <= stop):
        raise DataError(f"no points from {start:g} to {stop:g} in steps of {step:g}: START <= STOP and STEP above 0")
    # The share of a step forgives the rounding of decimal fractions.
    steps = math.floor((stop - start) / step + 1e-9)
    if steps >= MOST_POINTS:
        raise DataError(f"{steps + 1} points; at most {MOST_POINTS} are predicted at once")
    return {feature.name: np.minimum(start + step * np.arange(steps + 1), stop)}


def ahead(spec: ModelSpec, rows: LocalRows, count: int) -> Columns:
    """The next `count` cycles after a device's last row, one apart; fewer where the model's range ends before.

    Raises:
        DataError: several features, or the range has no cycle left.
    """
    feature = only_feature(spec)
    last = float(rows.X[:, 0].max())
    if last + 1.0 > feature.upper:
        raise DataError(
            f"{feature.name} of the last row is {last:g}, and the federation's model ends at {feature.upper:g} "
            f"{feature.unit}: there is nothing ahead to predict"
        )
    return grid(spec, last + 1.0, min(last + count, feature.upper), 1.0)


def only_feature(spec: ModelSpec) -> Feature:
    """The feature of a model that has one.

    Raises:
        DataError: it has several.
    """
    if len(spec.features) != 1:
        raise DataError(f"the model has {len(spec.features)} features ({', '.join(spec.feature_names)}): give a file")
    return spec.features[0]
