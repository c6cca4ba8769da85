"""`fgpr-agent predict`: from the newest verified prior and a device's own rows to predictions, a band and a picture."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from client_agent import (
    agent_toml,
    forecast,
    forecast_files,
    own_rows,
    picture,
    predict,
    prior_at_hand,
)
from client_agent.agent_toml import AgentToml
from client_agent.command_line import DEFAULT_HOME, Config, say, telling
from client_agent.events import one_line
from client_agent.forecast import Where, Wishes
from client_agent.forecast_files import Sensor
from client_agent.local_data import Columns
from client_agent.own_data import file_of
from client_agent.predict import PredictedRows
from client_agent.prior_at_hand import ago
from client_agent.published_prior import PublishedPrior
from fgpr.federated.fine_tuning import DEFAULT_SIGMA
from fgpr.gp.first_crossing import Direction

AHEAD = 20
"""Cycles that are predicted where nobody says where."""
SHOWN = 12
"""Most lines of the table for people."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
"""The command as a program of its own: `client_agent.program` starts it without the others."""

Homes = Annotated[
    list[Path],
    typer.Option(
        "--home",
        envvar="FGPR_HOME",
        help="Folder of this party's keys. Repeat it for several sensors: one federation a sensor, one panel each.",
        show_default="~/.fgpr",
        readable=False,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Your rows: CSV, Parquet, MATLAB or C-MAPSS text; that of agent.toml by default."),
]


@app.command()
def predict_rows(
    data: Data = None,
    home: Homes = [DEFAULT_HOME],  # noqa: B006 (typer reads it and changes nothing)
    config: Config = None,
    unit: Annotated[int | None, typer.Option("--unit", help="Take the rows of this unit only.")] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Column of the target, where yours has another name than the model's."),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Where to predict: a FILE with the features, or START:STOP:STEP.")
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option("--ahead", min=1, help=f"Predict the next N cycles after your last row; {AHEAD} without --at."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write: CSV, or JSON where it ends in .json; - for CSV here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
    picture_file: Annotated[
        Path | None, typer.Option("--picture", help="Draw rows, prediction and band: a .png or .svg file.")
    ] = None,
    compare_local: Annotated[
        bool, typer.Option("--compare-local", help="Beside it, a Gaussian process fitted to your rows alone.")
    ] = False,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Also: how many cycles until the trend crosses this value.")
    ] = None,
    direction: Annotated[
        Direction, typer.Option("--direction", help="Which side of --threshold counts as crossed.")
    ] = "above",
    fine_tune: Annotated[
        bool,
        typer.Option("--fine-tune", help="Fit the prior's hyper-parameters to your rows, held near the served ones."),
    ] = False,
    sigma: Annotated[
        float,
        typer.Option(
            "--sigma", min=1e-3, max=1e3, help="How far --fine-tune may move them, in log units; 0.1 is near."
        ),
    ] = DEFAULT_SIGMA,
    own_scale: Annotated[
        bool,
        typer.Option(
            "--own-scale/--rows-scale",
            help="Estimate this device's mean and scale as the prior weighs its rows, or take those of the rows alone.",
        ),
    ] = True,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask nobody: take the prior that was fetched and verified last.")
    ] = False,
) -> None:
    """Predict for one device from its own rows.

    The newest prior is fetched and verified (its signature, that the audit log holds it, and that this log continues
    the one seen before) and conditioned on your rows, which stay here. Without a net, the prior that was fetched last
    is used, and its age is told.

    The CSV has the features, mean, sd_latent, sd_observation, lower_95 and upper_95 (the band of a new measurement), in
    the model's units. Without --out and --json a short table is printed.
    """
    points = None if at is None or Path(at).exists() else _points(at)
    if at is not None and ahead is not None:
        raise typer.BadParameter("give --at or --ahead, not both", param_hint="--ahead")
    if len(home) > 1 and (target is not None or threshold is not None):
        raise typer.BadParameter(
            "--target and --threshold are of one sensor: give one home with them", param_hint="--home"
        )
    if as_json and out is not None:
        raise typer.BadParameter(
            "--json prints, --out writes a file (JSON where it ends in .json): give one", param_hint="--json"
        )
    with telling():
        if picture_file is not None:
            picture.check(picture_file)
        owner = [agent_toml.load(folder, config) for folder in home]
        priors = [prior_at_hand.fetched(*each, offline=offline) for each in zip(home, owner, strict=True)]
        wishes = Wishes(
            sigma=sigma if fine_tune else None,
            own_scale=own_scale,
            compare_local=compare_local,
            threshold=threshold,
            direction=direction,
            bounded=at is not None or ahead is not None,
            curve=picture_file is not None,
        )
        quiet = as_json or str(out) == "-"
        sensors = [
            Sensor(
                published,
                forecast.forecast(
                    published.record.prior(),
                    _rows(published, settings, data, unit, target),
                    _where(at, points, AHEAD if ahead is None else ahead, settings),
                    wishes,
                ),
            )
            for published, settings in zip(priors, owner, strict=True)
        ]
        if as_json:
            typer.echo(forecast_files.to_json(sensors, datetime.now(UTC)), nl=False)
        elif out is None:
            _show(sensors)
        else:
            _write(sensors, out)
        for sensor in sensors:
            _tell(sensor, quiet)
        if picture_file is not None:
            picture.draw(picture_file, sensors)
            typer.echo(f"wrote {picture_file}", err=quiet)


def _rows(
    published: PublishedPrior, settings: AgentToml, data: Path | None, unit: int | None, target: str | None
) -> Columns:
    """The device's rows by the federation's names, in its units; what was left out is told on standard error."""
    spec = published.record.prior().spec
    rows, report = own_rows.read(spec, file_of(data, settings), settings, unit=unit, target=target)
    for sentence in report.lines()[1:]:
        typer.echo(one_line(f"{spec.target.name}: {sentence}"), err=True)
    return rows


def _where(at: str | None, points: tuple[float, float, float] | None, ahead: int, settings: AgentToml) -> Where:
    if at is None:
        return lambda spec, rows: predict.ahead(spec, rows, ahead)
    if points is not None:
        return lambda spec, _: predict.grid(spec, *points)
    return lambda spec, _: own_rows.inputs(spec, Path(at), settings)


def _write(sensors: list[Sensor], out: Path) -> None:
    if str(out) == "-":
        typer.echo(forecast_files.to_csv(sensors), nl=False)
        return
    machine = out.suffix.lower() == ".json"
    text = forecast_files.to_json(sensors, datetime.now(UTC)) if machine else forecast_files.to_csv(sensors)
    out.write_text(text, encoding="utf-8")
    say(f"wrote {out}")


def _tell(sensor: Sensor, quiet: bool) -> None:
    """What the owner should know beside the numbers; on standard error where the output is for machines."""
    made, record = sensor.forecast, sensor.published.record
    if not quiet:
        looked = "just now" if sensor.published.fresh else ago(sensor.published.age(datetime.now(UTC)))
        say(
            f"{sensor.target}: {made.device.rows.y.size} rows, prior {record.version} of {record.federation}, verified "
            f"{looked}"
        )
        if made.tuned:
            moved = zip(made.served.natural.items(), made.device.prior.natural.values(), strict=True)
            say(f"{sensor.target}: fine-tuned: {', '.join(f'{name} {a:.3g} to {b:.3g}' for (name, a), b in moved)}")
    told = [] if made.remaining is None else made.remaining.sentences()
    for sentence in (*told, *made.notes):
        typer.echo(one_line(f"{sensor.target}: {sentence}"), err=quiet)


def _show(sensors: list[Sensor]) -> None:
    from rich.console import Console
    from rich.table import Table

    for sensor in sensors:
        made = sensor.forecast
        rows, unit = made.predicted, sensor.unit
        table = Table(*rows.features, f"{sensor.target} ({unit})", "95 % of measurements")
        if made.local is not None:
            table.add_column("your rows alone")
            table.add_column("95 %")
        places = np.linspace(0, len(rows.mean) - 1, min(SHOWN, len(rows.mean)))
        shown = np.unique(places.round().astype(int)).tolist()
        for place in shown:
            line = [*(f"{value:g}" for value in rows.inputs[place]), *_cells(rows, place)]
            table.add_row(*line, *(() if made.local is None else _cells(made.local, place)))
        Console().print(table)
        if len(shown) < len(rows.mean):
            say(f"{len(shown)} of {len(rows.mean)} points; --out writes all of them")


def _cells(rows: PredictedRows, place: int) -> tuple[str, str]:
    return f"{rows.mean[place]:.6g}", f"{rows.lower_95[place]:.6g} to {rows.upper_95[place]:.6g}"


def _points(at: str) -> tuple[float, float, float]:
    try:
        start, stop, step = map(float, at.split(":"))
    except ValueError:
        raise typer.BadParameter(f"{at!r} is no file and no START:STOP:STEP", param_hint="--at") from None
    return start, stop, step
