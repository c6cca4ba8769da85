"""Models of the experiments: features x1 to xd on one range, default bounds, and the menu of kernels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.gp.posterior import condition

ADDITIVE = "additive"
"""RBF on all inputs plus one RBF an input: a function that is a sum of its inputs' effects, and the rest."""

MENU = ("rbf", "matern-5/2", "matern-3/2", ADDITIVE)
"""Kernels that a federation may choose from."""

START_RANGES = (0.25, 1.0, 0.08)
"""Length-scales that exact optimisation starts from, in ranges of the features."""


def model(dimensions: int, kernel: str, lower: float = 0.0, upper: float = 1.0) -> ModelSpec:
    """A model with the library's default bounds; their floor of the noise sd is 0.01, a variance of 1e-4.

    Args:
        dimensions: d.
        kernel: a covariance in its text form, or `ADDITIVE`.
        lower: least value of every feature.
        upper: largest value.
    """
    names = [f"x{number}" for number in range(1, dimensions + 1)]
    text = " + ".join(["rbf", *(f"rbf({name})" for name in names)]) if kernel == ADDITIVE else kernel
    features = [Feature(name, "1", lower, upper) for name in names]
    return ModelSpec.with_default_bounds(features, Target("y", "1", "none"), text)


LEAST_NOISE = round(float(np.exp(model(1, "rbf").bounds.lower[NOISE])), 9)
"""The floor of the noise sd: the library's default, and that of all Gaussian processes here."""

MODEL: Mapping[str, Any] = {"start ranges": list(START_RANGES), "least noise sd": LEAST_NOISE}
"""Settings that every exact optimum has beside its kernel."""


def starts(spec: ModelSpec, ranges: tuple[float, ...] = START_RANGES) -> list[Array]:
    """Thetas that differ in their length-scales; of a sum of kernels, whose steps cost most, the first one alone."""
    found = []
    for share in ranges if "+" not in spec.kernel else ranges[:1]:
        theta = spec.initial_theta.copy()
        for place, parameter in enumerate(spec.parameters):
            if parameter.feature is not None:
                width = next(feature.range for feature in spec.features if feature.name == parameter.feature)
                theta[place] = np.log(share * width)
        found.append(spec.bounds.clip(theta).theta)
    return found


def predicted(spec: ModelSpec, theta: Array, client: LocalData, X: Array) -> Array:
    """The mean at new inputs, of one client that conditions theta on its own rows."""
    mean: Array = condition(spec.correlation, theta, client.X, client.y).predict(X).mean
    return mean
