"""`fgpr-agent prior show`: the prior that the federation has learned, for people and for machines."""

import json
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from client_agent import prior_at_hand, privacy_command
from client_agent.command_line import DEFAULT_HOME, Home, say, telling
from client_agent.published_prior import PublishedPrior
from fgpr.gp.model import Prior


def show(
    home: Home = DEFAULT_HOME,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fetch the newest prior, verify it against the audit log, and show it."""
    with telling():
        published = prior_at_hand.fetched(home)
        if as_json:
            typer.echo(json.dumps(_as_json(published), indent=2))
        else:
            say(_title(published))
            if published.record.privacy is not None:
                say(privacy_command.cost(published.record.privacy))
            Console().print(_table(published.record.prior()))


def _title(published: PublishedPrior) -> str:
    record = published.record
    opened = f", from {record.opened.clients} clients" if record.opened is not None else ""
    where = f"leaf {published.index} of the audit log"
    return f"prior {record.version} of {record.federation} ({record.reason}{opened}), {where}"


def _table(prior: Prior) -> Table:
    table = Table("hyper-parameter", "value", "unit")
    for name, value in zip(prior.spec.theta_names, np.exp(prior.theta).tolist(), strict=True):
        table.add_row(name, f"{value:.6g}", _units(prior)[name])
    return table


def _units(prior: Prior) -> dict[str, str]:
    spec = prior.spec
    scaled = "sd of the target" if spec.target.scaling == "standardise" else spec.target.unit
    features = {feature.name: feature.unit for feature in spec.features}
    # A periodic kernel's length-scale and an exponent have no unit.
    return {
        parameter.name: scaled if parameter.of_target else features.get(parameter.feature or "", "1")
        for parameter in spec.parameters
    }


def _as_json(published: PublishedPrior) -> dict[str, object]:
    record, prior = published.record, published.record.prior()
    return {
        "federation": record.federation,
        "version": record.version,
        "theta_version": record.theta_version,
        "reason": record.reason,
        "round": record.round,
        "clients": None if record.opened is None else record.opened.clients,
        "kernel": prior.spec.kernel,
        "target": prior.spec.target.name,
        "hyperparameters": dict(zip(prior.spec.theta_names, np.exp(prior.theta).tolist(), strict=True)),
        "theta": list(record.theta),
        "privacy": None if record.privacy is None else record.privacy.to_json(),
        "leaf": published.index,
        "fresh": published.fresh,
    }
