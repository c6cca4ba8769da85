"""Forecasts as CSV and JSON, for one device and for several sensors of it."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from client_agent.forecast import Forecast
from client_agent.predict import PredictedRows
from client_agent.published_prior import PublishedPrior
from fgpr.errors import DataError

COLUMNS = ("mean", "sd_latent", "sd_observation", "lower_95", "upper_95")
LOCAL = ("mean", "sd_observation", "lower_95", "upper_95")


@dataclass(frozen=True, eq=False)
class Sensor:
    """One federation's forecast for the device.

    Attributes:
        published: the prior as it was verified.
        forecast: what it says of the device.
    """

    published: PublishedPrior
    forecast: Forecast

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.forecast.served.spec.target.name

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.forecast.served.spec.target.unit


def to_csv(sensors: Sequence[Sensor]) -> str:
    """The predictions as CSV with a header row: inputs, mean, sd_latent, sd_observation, lower_95, upper_95.

    Several sensors are one below the other, with a first column `target`. Where a local fit stands beside, its columns
    begin with `local_`.

    Raises:
        DataError: the sensors' models have different features.
    """
    features = sensors[0].forecast.predicted.features
    for sensor in sensors:
        if sensor.forecast.predicted.features != features:
            raise DataError(
                f"{sensor.target} depends on {', '.join(sensor.forecast.predicted.features)}, {sensors[0].target} on "
                f"{', '.join(features)}: one CSV file cannot hold both; take JSON, or one home at a time"
            )
    several, compared = len(sensors) > 1, sensors[0].forecast.local is not None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [*features, *COLUMNS, *(f"local_{name}" for name in LOCAL if compared)]
    writer.writerow(["target", *names] if several else names)
    for sensor in sensors:
        rows, local = sensor.forecast.predicted, sensor.forecast.local
        columns = [*rows.inputs.T, *(getattr(rows, name) for name in COLUMNS)]
        if local is not None:
            columns += [getattr(local, name) for name in LOCAL]
        table = np.column_stack(columns).tolist()
        writer.writerows([sensor.target, *line] for line in table) if several else writer.writerows(table)
    return text.getvalue()


def to_json(sensors: Sequence[Sensor], now: datetime) -> str:
    """Everything, as one JSON object with a list of sensors.

    Args:
        sensors: in the order in which they are written.
        now: the present time, aware; ages are counted to it.
    """
    return json.dumps({"sensors": [_sensor(sensor, now) for sensor in sensors]}, indent=2) + "\n"


def _sensor(sensor: Sensor, now: datetime) -> dict[str, object]:
    forecast, published = sensor.forecast, sensor.published
    record = published.record
    return {
        "federation": record.federation,
        "target": sensor.target,
        "unit": sensor.unit,
        "prior": {
            "version": record.version,
            "theta_version": record.theta_version,
            "leaf": published.index,
            "fresh": published.fresh,
            "verified_at": f"{published.verified_at:%Y-%m-%dT%H:%M:%SZ}",
            "age_seconds": round(published.age(now).total_seconds()),
        },
        "fine_tuned": forecast.tuned,
        "hyperparameters": forecast.device.prior.natural,
        "rows": int(forecast.device.rows.y.size),
        "method": forecast.predicted.method,
        "predictions": _lines(forecast.predicted),
        "local": None
        if forecast.local is None or forecast.local_prior is None
        else {"hyperparameters": forecast.local_prior.natural, "predictions": _lines(forecast.local)},
        "remaining": None if forecast.remaining is None else forecast.remaining.to_json(),
        "notes": list(forecast.notes),
    }


def _lines(rows: PredictedRows) -> list[dict[str, float]]:
    columns = np.column_stack([*rows.inputs.T, *(getattr(rows, name) for name in COLUMNS)])
    return [dict(zip((*rows.features, *COLUMNS), line, strict=True)) for line in columns.tolist()]
