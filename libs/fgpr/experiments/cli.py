"""`fgpr-experiments`: runs the paper's tables and figures here, and puts them beside the paper's own."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from fgpr.errors import DataError, FgprError
from fgpr.experiments.catalogue import EXPERIMENTS, experiment_named
from fgpr.experiments.experiment import Experiment
from fgpr.experiments.neural import torch_is_here
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.report import PAGE, counted, write_report
from fgpr.experiments.runner import check_data, part_of, run_cells, shard_of, to_do
from fgpr.experiments.workers import ENGINES, Engine

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)

RESULTS = Path("build/experiments")

_TOLD = 10
"""How often a run that nobody watches says how far it is."""


@app.callback()
def main() -> None:
    """Run the evaluation of the FGPR paper (Yue and Kontar) and compare.

    `run` computes, one line of JSON a result, and goes on where it stopped. `report` makes tables and pictures of what
    there is. `list` says what can be run. Tables 2 and 3 need real data: set FGPR_DATA to their folder.
    """


@app.command("list")
def list_experiments(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """Say which experiments there are, with their systems, items and variants."""
    if as_json:
        typer.echo(json.dumps([_listed(experiment) for experiment in EXPERIMENTS.values()], indent=1))
        return
    table = Table("experiment", "what", "systems", "items", "variants", "seeds")
    for experiment in EXPERIMENTS.values():
        last = experiment.first_seed + experiment.repeats - 1
        table.add_row(
            experiment.name,
            experiment.title,
            " ".join(system.name for system in experiment.systems),
            " ".join(experiment.items),
            " ".join(experiment.variants),
            f"{experiment.first_seed}-{last}",
        )
    Console(width=None if sys.stdout.isatty() else 150).print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment of `list`.", metavar="EXPERIMENT")],
    repeats: Annotated[int | None, typer.Option(min=1, help="Seeds; without it those that `list` shows.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes on this machine, each with one thread.")] = 1,
    engine: Annotated[str, typer.Option(help="What starts them: joblib, or ray for many machines.")] = "joblib",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster, as 10.0.0.1:6379 or auto; without it Ray starts one here.")
    ] = None,
    system: Annotated[list[str] | None, typer.Option(help="Only this system; may come again.")] = None,
    item: Annotated[list[str] | None, typer.Option(help="Only this item; may come again.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this variant; may come again.")] = None,
    shard: Annotated[
        str,
        typer.Option(
            help="One part of the work, as in 2/5, for one of several machines with otherwise the same options. Each "
            "writes a file of its own; copy them into one folder, which is all that `run` and `report` need."
        ),
    ] = "1/1",
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
) -> None:
    """Run an experiment; what any of its files in the folder has is not run again, also after a kill in the middle.

    Systems that need PyTorch are left out where it is not installed, and named. Exits with 1 where a run failed or a
    system that was asked for was left out.
    """
    try:
        experiment = experiment_named(name)
        part, parts = part_of(shard)
        # First the part, then what cannot run here: otherwise machines with and without PyTorch would deal differently.
        cells = shard_of(
            experiment.cells(repeats or experiment.repeats, system or (), item or (), variant or ()), part, parts
        )
        # A cluster's machines may have PyTorch where this one has not.
        without = () if address is not None else _without_torch(experiment)
        asked = sorted({cell.system for cell in cells if cell.system in without})
        cells = [cell for cell in cells if cell.system not in without]
        path = results / (f"{name}.jsonl" if parts == 1 else f"{name}.{part}-of-{parts}.jsonl")
        waiting = to_do(cells, results)
        # Nor need this machine have the data of a cluster's.
        if address is None:
            check_data(waiting)
        failed = _run(experiment, waiting, path, Machines(jobs, _engine(engine), address))
    except (FgprError, OSError) as error:
        typer.echo(f"fgpr-experiments: {error}", err=True)
        raise typer.Exit(1) from error
    if asked:
        typer.echo(f"left out, since PyTorch is not installed (make setup-paper): {', '.join(asked)}", err=True)
    if failed or (system and asked):
        raise typer.Exit(1)


@app.command()
def report(
    results: Annotated[Path, typer.Option(help="Folder of the results; all its .jsonl files are read.")] = RESULTS,
    out: Annotated[Path, typer.Option(help="Folder for the page and its pictures.")] = Path("build/experiments"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the targets to this file.")] = None,
    command: Annotated[str, typer.Option(help="What the page says made the results.")] = "fgpr-experiments run ...",
    introduction: Annotated[Path | None, typer.Option(help="Markdown that the page begins with.")] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 1 where a target is missed.")] = False,
) -> None:
    """Write one Markdown page: every table beside the paper's figures, targets met and missed, pictures."""
    try:
        files = sorted(results.glob("*.jsonl"))
        if not files:
            raise DataError(f"there are no results in {results}: `fgpr-experiments run table1` makes some")
        first = introduction.read_text(encoding="utf-8") if introduction else ""
        targets, left_out = write_report(files, out, command, first)
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            json_file.write_text(json.dumps([one._asdict() for one in targets], indent=1) + "\n", encoding="utf-8")
    except (FgprError, OSError, UnicodeDecodeError) as error:
        typer.echo(f"fgpr-experiments: {error}", err=True)
        raise typer.Exit(1) from error
    if left_out:
        typer.echo(f"left out, since their settings are not the present ones: {counted(left_out)}", err=True)
    console = Console(markup=False, highlight=False)
    missed = [one for one in targets if one.met is False]
    met = sum(one.met is True for one in targets)
    console.print(f"{out / PAGE}: {met} targets met, {len(missed)} missed")
    for one in missed:
        console.print(f"  missed: {one.name}: {one.value:.4g}, wanted {one.target}")
    if strict and missed:
        raise typer.Exit(1)


class Machines(NamedTuple):
    """Where cells run; see `fgpr.experiments.workers.records_of`."""

    jobs: int
    engine: Engine
    address: str | None


def _run(experiment: Experiment, waiting: list[Cell], path: Path, machines: Machines) -> int:
    console = Console(markup=False, highlight=False)
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    failures: list[Record] = []
    done = 0
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task(experiment.name, total=len(waiting))

        def told(record: Record) -> None:
            nonlocal done
            done += 1
            cell = record.cell
            progress.update(bar, advance=1, description=f"{cell.item} {cell.variant} {cell.system} {cell.seed}")
            # A log or a pipe shows no bar, and would say nothing for minutes.
            tenth = done * _TOLD // len(waiting)
            if not console.is_terminal and tenth > (done - 1) * _TOLD // len(waiting):
                typer.echo(f"{experiment.name}: {done} of {len(waiting)}")
            if record.error:
                failures.append(record)

        run_cells(waiting, path, machines.jobs, told, machines.engine, machines.address)
    console.print(f"{len(waiting)} runs added to {path}, {len(failures)} of them failed")
    for record in failures[:5]:
        cell = record.cell
        console.print(f"  {cell.item} {cell.variant} {cell.system} {cell.seed}: {record.error}")
    return len(failures)


def _without_torch(experiment: Experiment) -> list[str]:
    return [] if torch_is_here() else [system.name for system in experiment.systems if system.needs_torch]


def _engine(name: str) -> Engine:
    for engine in ENGINES:
        if engine == name:
            return engine
    raise DataError(f"no engine is named {name!r}; there are {', '.join(ENGINES)}")


def _listed(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "systems": [
            {"name": system.name, "title": system.title, "needs_torch": system.needs_torch}
            for system in experiment.systems
        ],
        "items": list(experiment.items),
        "variants": list(experiment.variants),
        "first_seed": experiment.first_seed,
        "repeats": experiment.repeats,
    }


if __name__ == "__main__":
    sys.exit(app())
