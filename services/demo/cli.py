"""`fgpr-demo`: a whole federation on one machine."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from demo import report, verify
from demo.demonstration import Shown, Wish, demonstrate
from fgpr.errors import FgprError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    data: Annotated[
        Path | None, typer.Option(help="A C-MAPSS text file; without it a built-in generator makes turbofan engines.")
    ] = None,
    sensor: Annotated[int, typer.Option(min=1, max=21, help="Number of the sensor to learn and predict.")] = 4,
    clients: Annotated[int, typer.Option(min=4, max=200, help="Engines that learn the prior together.")] = 20,
    new_engines: Annotated[int, typer.Option(min=1, max=200, help="Engines that come when it is learned.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds to publish.")] = 10,
    drop: Annotated[
        float, typer.Option(min=0.0, max=0.25, help="Share of the agents to kill in every round, at different steps.")
    ] = 0.0,
    database: Annotated[
        str | None,
        typer.Option(
            help="URL of an empty database instead of SQLite, as in postgresql://...; with --verify, of the kept one."
        ),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep everything in this new folder: database, keys, agents, logs.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
    report_folder: Annotated[
        Path | None, typer.Option("--report", help="Write a picture of a new engine's prediction into this folder.")
    ] = None,
    groups: Annotated[
        int, typer.Option(min=1, max=66, help="Deal the engines to so many groups (3 or more), and take their median.")
    ] = 1,
    largest_step: Annotated[
        float | None, typer.Option(min=1e-6, help="Farthest that a round may move a number of the prior (log units).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice of engines and rows.")] = 0,
    verify_folder: Annotated[
        Path | None, typer.Option("--verify", help="Verify what --keep left in this folder, and do nothing else.")
    ] = None,
) -> None:
    """Show a whole federation at work on this machine.

    Starts the real aggregator on a loopback socket and one real agent an engine, lets them learn a prior in masked
    rounds, then lets new engines fetch it, verify it, and predict the hidden half of their cycles without training.
    """
    console = Console()
    try:
        if verify_folder is not None:
            _verify(console, verify_folder, database)
            return
        folder = _folder(keep)
        try:
            wish = Wish(data, sensor, clients, new_engines, rounds, drop, seed, folder, database, groups, largest_step)
            shown = _run(console, wish)
            _tell(console, shown, json_file, report_folder)
        finally:
            if keep is None:
                shutil.rmtree(folder, ignore_errors=True)
    except (FgprError, OSError) as error:
        typer.echo(f"fgpr-demo: {error}", err=True)
        raise typer.Exit(1) from error
    if not shown.findings.audit_verified:
        raise typer.Exit(1)


def _run(console: Console, wish: Wish) -> Shown:
    source = str(wish.data) if wish.data else "the built-in generator"
    console.print(
        f"{wish.clients} engines learn a prior in {wish.rounds} rounds; then {wish.new_engines} new ones use it.\n"
        f"Data: sensor {wish.sensor} of {source}, seed {wish.seed}.",
        highlight=False,
    )
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    # A terminal gets a bar that moves, a log file nothing but the table.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("preparing", total=wish.rounds)
        return demonstrate(wish, lambda step, done: progress.update(bar, description=step, completed=done))


def _tell(console: Console, shown: Shown, json_file: Path | None, report_folder: Path | None) -> None:
    report.print_table(console, shown.findings)
    if report_folder is not None:
        picture = report_folder / "prediction.png"
        report.draw(picture, shown.fleet.new[0], shown.rows, shown.fleet.sensor)
        (report_folder / "findings.json").write_text(report.to_json(shown.findings))
        console.print(f"A new engine's prediction is drawn in {picture}", highlight=False)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(report.to_json(shown.findings))


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="fgpr-demo-"))
    if keep.exists() and any(keep.iterdir()):
        raise FgprError(f"{keep} is not empty: --keep takes a new folder, so that nothing old is mixed in")
    keep.mkdir(parents=True, exist_ok=True, mode=0o700)
    return keep.resolve()


def _verify(console: Console, folder: Path, database: str | None) -> None:
    try:
        trail = verify.verify_kept(folder, database)
    except FgprError as error:
        console.print("audit_verified false", highlight=False)
        typer.echo(f"fgpr-demo: {error}", err=True)
        raise typer.Exit(1) from error
    counts = (
        f"{trail.leaves} entries, {len(trail.rosters)} rosters, {len(trail.plans)} plans, {len(trail.priors)} priors"
    )
    console.print("audit_verified true", highlight=False)
    console.print(counts, highlight=False)


if __name__ == "__main__":
    sys.exit(app())
