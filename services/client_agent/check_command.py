"""`fgpr-agent check`: what would become of an owner's data, said before anything is sent."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from client_agent import agent_toml, authorities, known_model, own_rows, trial
from client_agent.api import Api
from client_agent.command_line import DEFAULT_HOME, Config, Home, say, telling, ticket_of
from client_agent.known_model import KnownModel
from client_agent.own_data import file_of
from client_agent.own_rows import Report
from client_agent.trial import Trial

NOTHING_TO_LEARN = 3
"""Exit code where the rows can be read, and the agent would contribute nothing."""


def check(
    data: Annotated[Path | None, typer.Argument(help="Your rows; else as agent.toml says.", show_default=False)] = None,
    home: Home = DEFAULT_HOME,
    config: Config = None,
    unit: Annotated[int | None, typer.Option("--unit", help="Take the rows of this unit only.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Your column of the target.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="The federation's settings, or its model, in TOML or JSON.")
    ] = None,
    ticket: Annotated[
        str | None,
        typer.Option("--ticket", help="Learn the model from the audit log that this ticket names; it stays unused."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what would be used, converted, dropped, scaled, clipped and sent of your data. Nothing is sent.

    The model comes from --model, from --ticket, or from the home of an enrolled client. Exit codes: 0 the agent would
    contribute; 1 the data or the settings cannot be used; 3 they can, and nothing would be learned from them.
    """
    if model is not None and ticket is not None:
        raise typer.BadParameter("one of --model and --ticket")
    with telling():
        settings = agent_toml.load(home, config)
        known = _known(home, model, ticket, settings.connection.proxy)
        columns, report = own_rows.read(known.spec, file_of(data, settings), settings, unit=unit, target=target)
        tried = trial.contribute(known, columns)
        if as_json:
            typer.echo(json.dumps(_as_json(known, report, tried), indent=2))
        else:
            for line in _told(known, report, tried):
                say(line)
    if tried.refusal is not None:
        raise typer.Exit(NOTHING_TO_LEARN)


def _known(home: Path, model: Path | None, ticket: str | None, proxy: str | None) -> KnownModel:
    if model is not None:
        return known_model.from_file(model)
    if ticket is not None:
        return known_model.from_ticket(ticket_of(ticket), partial(Api, tls=authorities.load(home), proxy=proxy))
    return known_model.from_home(home)


def _told(known: KnownModel, report: Report, tried: Trial) -> list[str]:
    spec = known.spec
    lines = [
        f"model:      {', '.join(spec.feature_names)} -> {spec.target.name} [{spec.target.unit}], from {known.source}"
    ]
    used, *rest = report.lines()
    lines.append(f"used:       {used}")
    for name, column in report.columns.items():
        unit = next((each.unit for each in spec.features if each.name == name), spec.target.unit)
        mapped = f"column {column!r}" if column != name else "the column of that name"
        lines.append(f"            {name} [{unit}] from {mapped}")
    lines += [f"            {line}" for line in rest]
    if spec.target.scaling == "standardise":
        lines.append(
            f"scaled:     {spec.target.name} by its mean {tried.mean:.6g} and standard deviation {tried.sd:.4g} "
            f"{spec.target.unit}, which stay here"
        )
    if tried.refusal is not None:
        return [*lines, f"sent:       nothing: {tried.refusal}"]
    if tried.losses is not None:
        lines.append(
            f"trained:    {tried.losses[0]:.4g} nats a row before the first step, {tried.losses[1]:.4g} before the last"
        )
    clipped = [f"at its bound: {', '.join(tried.clipped)}"] if tried.clipped else []
    if tried.uninformed:
        clipped.append(f"not informed by these rows, sent as it came: {', '.join(tried.uninformed)}")
    if tried.clip is not None:
        verb = "longer than the clip, and would be shrunk to it" if tried.shrunk else "within the clip"
        clipped.append(f"a step of {tried.step:.3g} is {verb} ({tried.clip:g}); noise is added before it leaves")
    lines.append(f"clipped:    {'; '.join(clipped) or 'nothing'}")
    lines.append(
        f"sent:       {tried.numbers} numbers of the kernel and a weight of {tried.weight}"
        f"{' (capped)' if tried.capped else ''}, masked so that only a sum over many clients can be opened"
    )
    return [*lines, "never sent: rows, columns, means, standard deviations, file names"]


def _as_json(known: KnownModel, report: Report, tried: Trial) -> dict[str, Any]:
    return {
        "model": {
            "source": known.source,
            "features": [each.to_json() for each in known.spec.features],
            "target": known.spec.target.to_json(),
            "prior": known.version,
        },
        "data": asdict(report),
        "scaling": {"mean": tried.mean, "sd": tried.sd},
        "contributes": tried.refusal is None,
        "reason": tried.refusal,
        "training": None if tried.losses is None else {"first_loss": tried.losses[0], "last_loss": tried.losses[1]},
        "clipped": {
            "at_bound": tried.clipped,
            "uninformed": tried.uninformed,
            "step": tried.step,
            "clip": tried.clip,
            "shrunk": tried.shrunk,
        },
        "sent": {"numbers": tried.numbers, "weight": tried.weight, "capped": tried.capped, "rows": 0},
    }
