"""Predicting for one device: the published prior, conditioned on the device's own rows. Nothing leaves the device.

The band is that of a new measurement: mean -+ 1.96 times the standard deviation of function and noise together.
"""

import csv
import io
import math
from dataclasses import dataclass

import numpy as np

from client_agent import local_data
from client_agent.local_data import Columns
from fgpr.errors import DataError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import condition_within_memory
from fgpr.gp.memory import MEMORY_LIMIT
from fgpr.gp.model import ModelSpec, Prior
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
    """

    features: tuple[str, ...]
    inputs: Array
    mean: Array
    sd_latent: Array
    sd_observation: Array
    lower_95: Array
    upper_95: Array
    method: Method


def predict(
    prior: Prior, own: Columns, at: Columns, target: str | None = None, memory_limit: int = MEMORY_LIMIT
) -> PredictedRows:
    """Condition a prior on one device's rows and predict.

    Args:
        prior: the published one.
        own: the device's rows: features and target, by name.
        at: the inputs to predict at, by name.
        target: the column of the target, where it has another name than in the model.
        memory_limit: bytes; where the matrix of all rows does not fit, each input is predicted from the nearest rows.

    Raises:
        DataError: no rows, a column is missing, or a value cannot be used; names the row.
        NumericalError: the prediction has no finite value.
    """
    spec = prior.spec
    rows = local_data.arrange(spec, own, target)
    inputs = spec.arrange(at)
    posterior = condition_within_memory(spec.correlation, prior.theta, rows.X, rows.y, memory_limit=memory_limit)
    scaled = posterior.predict(inputs)
    mean = rows.scaling.to_original(scaled.mean)
    latent = np.sqrt(rows.scaling.variance_to_original(scaled.latent_variance))
    observation = np.sqrt(rows.scaling.variance_to_original(scaled.observation_variance))
    half = QUANTILE * observation
    lower, upper = mean - half, mean + half
    return PredictedRows(spec.feature_names, inputs, mean, latent, observation, lower, upper, scaled.method)


def grid(spec: ModelSpec, start: float, stop: float, step: float) -> Columns:
    """Inputs from `start` to `stop`, both included where the step hits them, for a model with one feature.

    Raises:
        DataError: several features, a step that is not above 0, a stop below the start, or too many points.
    """
    if len(spec.features) != 1:
        raise DataError(f"the model has {len(spec.features)} features ({', '.join(spec.feature_names)}): give a file")
    if not (math.isfinite(start) and math.isfinite(stop) and math.isfinite(step) and step > 0 and start <= stop):
        raise DataError(f"no points from {start:g} to {stop:g} in steps of {step:g}: START <= STOP and STEP above 0")
    # The share of a step forgives the rounding of decimal fractions.
    steps = math.floor((stop - start) / step + 1e-9)
    if steps >= MOST_POINTS:
        raise DataError(f"{steps + 1} points; at most {MOST_POINTS} are predicted at once")
    return {spec.feature_names[0]: np.minimum(start + step * np.arange(steps + 1), stop)}


def to_csv(rows: PredictedRows) -> str:
    """The predictions as CSV with a header row: inputs, mean, sd_latent, sd_observation, lower_95, upper_95."""
    columns = [*rows.inputs.T, rows.mean, rows.sd_latent, rows.sd_observation, rows.lower_95, rows.upper_95]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*rows.features, "mean", "sd_latent", "sd_observation", "lower_95", "upper_95"])
    writer.writerows(np.column_stack(columns).tolist())
    return text.getvalue()
