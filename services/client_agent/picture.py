"""A picture of a forecast: the device's rows, the prediction with its bands, and the local fit where one stands beside.

Matplotlib draws it; it is loaded when a picture is asked for and never otherwise.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from client_agent.forecast_files import Sensor
from client_agent.predict import PredictedRows
from fgpr.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
PANEL_INCHES = (8.0, 3.6)
DPI = 120
SERVED, LOCAL = "tab:blue", "tab:orange"


def check(path: Path) -> None:
    """Nothing, if a picture of this name can be drawn.

    Raises:
        DataError: the name ends neither in .png nor in .svg, or matplotlib is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"a picture is PNG or SVG: {path} has to end in {' or '.join(SUFFIXES)}")
    _figure_class()


def draw(path: Path, sensors: Sequence[Sensor]) -> None:
    """Draw one panel a sensor, one below the other.

    Args:
        path: ends in .png or .svg.
        sensors: forecasts with curves.

    Raises:
        DataError: as `check`.
        OSError: the file cannot be written.
    """
    check(path)
    import matplotlib

    width, height = PANEL_INCHES
    # The same forecast gives the same bytes, text in it stays text.
    with matplotlib.rc_context({"svg.hashsalt": "fgpr", "svg.fonttype": "none"}):
        figure = _figure_class()(figsize=(width, height * len(sensors)), layout="constrained")
        panels = figure.subplots(len(sensors), squeeze=False)[:, 0]
        for axes, sensor in zip(panels, sensors, strict=True):
            _panel(axes, sensor)
        # A date would make each run's file another one.
        figure.savefig(path, dpi=DPI, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _panel(axes: "Axes", sensor: Sensor) -> None:
    forecast = sensor.forecast
    if forecast.curves is None:
        raise DataError(f"the forecast of {sensor.target} holds no curves to draw")
    name = "fine-tuned prior" if forecast.tuned else "served prior"
    curve = forecast.curves.served
    cycles = curve.inputs[:, 0]
    axes.fill_between(
        cycles, curve.lower_95, curve.upper_95, color=SERVED, alpha=0.15, linewidth=0, label="95 % of measurements"
    )
    trend = curve.quantile * curve.sd_latent
    axes.fill_between(
        cycles, curve.mean - trend, curve.mean + trend, color=SERVED, alpha=0.3, linewidth=0, label="95 % of the trend"
    )
    axes.plot(cycles, curve.mean, color=SERVED, linewidth=2, label=name)
    if forecast.curves.local is not None:
        _local(axes, forecast.curves.local)
    rows = forecast.device.rows
    axes.plot(rows.X[:, 0], forecast.targets, "o", markersize=3, color="black", label="your rows")
    if forecast.remaining is not None:
        threshold = forecast.remaining.threshold
        axes.axhline(threshold, color="tab:red", linestyle="--", linewidth=1, label=f"threshold {threshold:g}")
    feature = forecast.served.spec.features[0]
    last = float(rows.X[:, 0].max())
    if last < float(cycles.max()):
        axes.axvline(last, color="grey", linestyle=":", linewidth=1)
    axes.set_xlabel(f"{feature.name} ({feature.unit})")
    axes.set_ylabel(f"{sensor.target} ({sensor.unit})")
    record = sensor.published.record
    axes.set_title(f"{record.federation}, prior {record.version}: {sensor.target} from {rows.y.size} rows", fontsize=11)
    axes.legend(loc="best", fontsize="small")


def _local(axes: "Axes", local: PredictedRows) -> None:
    cycles = local.inputs[:, 0]
    for edge in (local.lower_95, local.upper_95):
        axes.plot(cycles, np.asarray(edge), color=LOCAL, linewidth=0.8, linestyle="--")
    axes.plot(cycles, local.mean, color=LOCAL, linewidth=1.5, label="fitted to your rows alone, 95 % of measurements")


def _figure_class() -> "type[Figure]":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataError(
            "a picture needs matplotlib, which is not installed: pip install 'fgpr[agent,picture]', or leave out "
            "--picture"
        ) from error
    return Figure
