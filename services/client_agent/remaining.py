"""How many cycles remain until a device's trend reaches a threshold: a distribution, and how far to trust it.

Whole trends are drawn from the joint posterior, from the last row to a horizon; each says when it first crosses
(`fgpr.gp.first_crossing`). Far ahead the rows say little: then the draws are those of the prior, and so is the answer.
"""

import math
from dataclasses import dataclass

import numpy as np

from client_agent import predict
from client_agent.predict import Device
from fgpr.errors import DataError
from fgpr.gp.first_crossing import Direction, first_crossing

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 4000
"""So many that a probability is off by less than 0.016 with 95 % confidence."""
SEED = 20240209
"""The same rows and prior give the same answer."""

MOST_STEPS = 1000
FEWEST_STEPS = 100
TOLD = math.exp(-1.0)
"""Where rows explain less of the variance, the mean is rather the prior's: one row does at one RBF length-scale."""


@dataclass(frozen=True)
class Remaining:
    """When the trend crosses.

    Attributes:
        feature: what is counted.
        unit: of the feature.
        threshold: in the target's unit.
        target_unit: of the threshold.
        direction: "above" or "below".
        last: input of the last row.
        horizon: input up to which was looked.
        step: of the grid; a crossing is known no finer.
        after: for each of `LEVELS`, how far after the last row; None beyond the horizon.
        none_within: probability that there is no crossing up to the horizon.
        reach: input from which on the rows tell little (`TOLD`); None where that is beyond the horizon.
    """

    feature: str
    unit: str
    threshold: float
    target_unit: str
    direction: Direction
    last: float
    horizon: float
    step: float
    after: tuple[float | None, ...]
    none_within: float
    reach: float | None

    def sentences(self) -> list[str]:
        """For people."""
        side = "at or above" if self.direction == "above" else "at or below"
        what = f"the trend is {side} {self.threshold:g} {self.target_unit}"
        if self.none_within > 1.0 - LEVELS[0]:
            told = [f"{self.feature} {self.horizon:g} comes before {what}, with probability {self.none_within:.3f}"]
        else:
            low, _, middle, _, high = (self._written(value) for value in self.after)
            when = f"{what} after another {middle} {self.unit} (median; 5 % to 95 %: {low} to {high})"
            told = [f"{when}, and not before {self.feature} {self.horizon:g} with probability {self.none_within:.3f}"]
        if self.reach is not None:
            told.append(
                f"the horizon, {self.feature} {self.horizon:g}, is beyond what the rows tell of: from {self.reach:g} "
                "on the answer is the federation's prior more than this device, and its mean that of the prior"
            )
        return told

    def to_json(self) -> dict[str, object]:
        """For machines."""
        return {
            "threshold": self.threshold,
            "direction": self.direction,
            "last": self.last,
            "horizon": self.horizon,
            "step": self.step,
            "remaining_quantiles": dict(zip(map(str, LEVELS), self.after, strict=True)),
            "probability_none": self.none_within,
            "prior_mean_from": self.reach,
        }

    def _written(self, value: float | None) -> str:
        return f"more than {self.horizon - self.last:g}" if value is None else f"{value:g}"


def remaining(device: Device, threshold: float, direction: Direction, horizon: float | None = None) -> Remaining:
    """The distribution of the first crossing after the last row.

    Args:
        device: with one feature.
        threshold: in the target's unit.
        direction: which side counts as crossed.
        horizon: the last input to look at; None for the end of the model's range.

    Raises:
        DataError: several features, no room between the last row and the horizon, or too many rows to draw trends.
        NumericalError: the posterior has no finite values.
    """
    spec = device.spec
    feature = predict.only_feature(spec)
    last = float(device.rows.X[:, 0].max())
    end = feature.upper if horizon is None else min(horizon, feature.upper)
    if not last < end:
        raise DataError(
            f"the last row is at {feature.name} {last:g} and the horizon at {end:g}: there is nothing between"
        )
    # One cycle a step, unless the range is so long or so short that this would be no grid.
    step = (end - last) / min(max(math.ceil(end - last), 1), MOST_STEPS)
    step = min(step, (end - last) / FEWEST_STEPS) if end - last < 1.0 else step
    at = np.linspace(last, end, round((end - last) / step) + 1)
    drawn = device.draw({feature.name: at}, DRAWS, np.random.default_rng(SEED))
    crossing = first_crossing(drawn, at, threshold, direction)
    return Remaining(
        feature=feature.name,
        unit=feature.unit,
        threshold=threshold,
        target_unit=spec.target.unit,
        direction=direction,
        last=last,
        horizon=end,
        step=step,
        after=tuple(None if value is None else value - last for value in crossing.quantiles(LEVELS)),
        none_within=crossing.none_within,
        reach=reach(device, at),
    )


def reach(device: Device, at: np.ndarray) -> float | None:
    """The first of these rising inputs from which on the rows tell less than `TOLD`, up to the last; or None."""
    told = device.told_by_rows({device.spec.feature_names[0]: at}) >= TOLD
    after = np.flatnonzero(told)
    first = int(after[-1]) + 1 if after.size else 0
    return float(at[first]) if first < at.size else None
