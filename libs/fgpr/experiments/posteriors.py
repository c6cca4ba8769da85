"""Posteriors over one input as they stand in records, for the report to draw."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fgpr.experiments.records import rounded
from fgpr.federated.kernel_choice import Learned
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.posterior import condition

FIRST_SEED = 100
"""The seed whose runs keep what they fitted: one picture is enough."""

_POINTS = 101
_DIGITS = 4

Curve = Callable[[Array], Array]
"""From inputs of shape (m, 1) to values of shape (m,)."""


def posterior(title: str, learned: Learned, client: LocalData, truth: Curve, upper: float = 1.0) -> dict[str, Any]:
    """The client's posterior of the function on [0, upper]: mean and standard deviation, beside truth and rows.

    Args:
        title: of its panel.
        learned: model and theta, conditioned on the client's rows.
        client: with one input.
        truth: in the scale of the client's targets.
        upper: the largest input.
    """
    predicted = condition(learned.spec.correlation, learned.theta, client.X, client.y).predict(_grid(upper))
    sd = rounded(np.sqrt(predicted.latent_variance), _DIGITS)
    return {**fitted(title, lambda _X: predicted.mean, client, truth, upper), "sd": sd}


def fitted(title: str, mean: Curve, client: LocalData, truth: Curve, upper: float = 1.0) -> dict[str, Any]:
    """As `posterior`, of what knows no variance."""
    X = _grid(upper)
    return {
        "title": title,
        "x": rounded(X[:, 0], _DIGITS),
        "mean": rounded(mean(X), _DIGITS),
        "truth": rounded(truth(X), _DIGITS),
        "rows": [rounded(client.X[:, 0], _DIGITS), rounded(client.y, _DIGITS)],
    }


def _grid(upper: float) -> Array:
    grid: Array = np.linspace(0.0, upper, _POINTS)[:, np.newaxis]
    return grid
