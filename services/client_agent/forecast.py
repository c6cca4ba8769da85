"""One device's forecast: predictions from the served prior, what the rows say alone, and the cycles that remain.

A forecast is what `fgpr-agent predict` and `client_agent.client` make of a verified prior and a device's rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from client_agent import local_data, predict
from client_agent.local_data import Columns, LocalRows
from client_agent.predict import Device, PredictedRows
from client_agent.remaining import TOLD, Remaining, reach, remaining
from fgpr.errors import DataError
from fgpr.federated.fine_tuning import fine_tune, fit_alone
from fgpr.gp.first_crossing import Direction
from fgpr.gp.model import ModelSpec, Prior

CURVE_POINTS = 300
"""Of a picture's curves, at least."""

Where = Callable[[ModelSpec, LocalRows], Columns]
"""The inputs to predict at, once the model and the device's rows are known."""


@dataclass(frozen=True)
class Wishes:
    """What a forecast shall hold beside predictions.

    Attributes:
        sigma: of the penalty towards the served theta; None predicts with the served theta as it is.
        own_scale: estimate the device's own mean and scale; else they are those of its rows, as in training.
        compare_local: whether a Gaussian process fitted to the rows alone stands beside it.
        threshold: of the trend, in the target's unit; None where nobody asks.
        direction: which side of it counts as crossed.
        bounded: a crossing is looked for up to the last input asked for, not to the end of the model's range.
        curve: whether there are predictions for a picture.
    """

    sigma: float | None = None
    own_scale: bool = True
    compare_local: bool = False
    threshold: float | None = None
    direction: Direction = "above"
    bounded: bool = False
    curve: bool = False


@dataclass(frozen=True, eq=False)
class Curves:
    """Predictions for a picture, from the first row or asked input to the last one."""

    served: PredictedRows
    local: PredictedRows | None


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is known of one device.

    Attributes:
        device: the prior and the rows that it rests on.
        served: the prior as served; the device's own differs where it was fine-tuned.
        predicted: at the inputs asked for.
        local: the same by a Gaussian process fitted to the rows alone; None where nobody asked.
        local_prior: with that theta.
        remaining: until the threshold; None where nobody asked.
        curves: for a picture; None where nobody asked.
        notes: what the owner should know, in sentences.
    """

    device: Device
    served: Prior
    predicted: PredictedRows
    local: PredictedRows | None = None
    local_prior: Prior | None = None
    remaining: Remaining | None = None
    curves: Curves | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def targets(self) -> np.ndarray:
        """The device's own targets, in the target's unit, shape (n,)."""
        return self.device.rows.scaling.to_original(self.device.rows.y)

    @property
    def tuned(self) -> bool:
        """Whether theta was moved from the served one."""
        return self.device.prior is not self.served


def forecast(
    served: Prior, own: Columns, where: Where, wishes: Wishes | None = None, target: str | None = None
) -> Forecast:
    """Condition on a device's rows and predict.

    Args:
        served: the verified prior.
        own: the device's rows, by name.
        where: the inputs to predict at.
        wishes: what else is wanted.
        target: the column of the target, where it has another name than in the model.

    Raises:
        DataError: rows, inputs or wishes that cannot be used; says which.
        NumericalError: a fit or a prediction has no finite value.
    """
    wishes = wishes or Wishes()
    spec = served.spec
    rows = local_data.arrange(spec, own, target)
    device = predict.condition_on(_tuned(served, rows, wishes.sigma), rows, own_scale=wishes.own_scale)
    alone = predict.condition_on(_alone(spec, rows), rows) if wishes.compare_local else None
    at = where(spec, rows)
    predicted = device.predict(at)
    until = None
    if wishes.threshold is not None:
        horizon = float(predicted.inputs[:, 0].max()) if wishes.bounded and predicted.inputs.size else None
        until = remaining(device, wishes.threshold, wishes.direction, horizon)
    curves = None
    if wishes.curve:
        along = _along(spec, rows, predicted)
        curves = Curves(device.predict(along), None if alone is None else alone.predict(along))
    return Forecast(
        device=device,
        served=served,
        predicted=predicted,
        local=None if alone is None else alone.predict(at),
        local_prior=None if alone is None else alone.prior,
        remaining=until,
        curves=curves,
        notes=tuple(_notes(device, predicted)),
    )


def _tuned(served: Prior, rows: LocalRows, sigma: float | None) -> Prior:
    if sigma is None:
        return served
    return Prior(served.spec, fine_tune(served, rows.X, rows.y, sigma).theta, served.version)


def _alone(spec: ModelSpec, rows: LocalRows) -> Prior:
    return Prior(spec, fit_alone(spec, rows.X, rows.y).theta, 0)


def _along(spec: ModelSpec, rows: LocalRows, predicted: PredictedRows) -> Columns:
    feature = predict.only_feature(spec)
    both = np.concatenate([rows.X[:, 0], predicted.inputs[:, 0]])
    if not both.size:
        raise DataError("there is nothing to draw")
    return {feature.name: np.unique(np.concatenate([both, np.linspace(both.min(), both.max(), CURVE_POINTS)]))}


def _notes(device: Device, predicted: PredictedRows) -> list[str]:
    notes = []
    spec, rows = device.spec, device.rows
    if predicted.method == "nearest neighbours":
        notes.append("too many rows for one matrix: each point is predicted from the rows nearest to it")
    if len(spec.features) == 1 and predicted.inputs.size:
        beyond = np.unique(predicted.inputs[:, 0])
        beyond = beyond[beyond > rows.X[:, 0].max()]
        start = reach(device, beyond) if beyond.size else None
        if start is not None:
            name, unit = spec.feature_names[0], spec.target.unit
            lengths = [
                f"{value:.3g} {spec.features[0].unit}"
                for parameter, value in zip(spec.parameters, device.prior.natural.values(), strict=True)
                if parameter.name.startswith("length-scale") and parameter.feature is not None
            ]
            level = 0.0 if device.own_scale is None else device.own_scale.mean
            mean = float(rows.scaling.to_original(level))
            scale = f" (length-scale {', '.join(lengths)})" if lengths else ""
            notes.append(
                f"from {name} {start:g} on your rows explain less than {TOLD:.0%} of the variance{scale}: the "
                f"prediction goes back to the prior's mean, {mean:.6g} {unit}"
            )
    return notes
