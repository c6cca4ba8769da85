"""`fgpr-agent service-unit`: the systemd unit of this package, with the place where this agent is installed."""

import sys
from importlib.resources import files
from pathlib import Path

import typer

UNIT = "fgpr-agent.service"

PLACEHOLDER = "/opt/fgpr/bin/fgpr-agent"
"""Where the unit looks for the program until it is told better."""


def show() -> None:
    """Print a systemd unit that runs this agent: > /etc/systemd/system/fgpr-agent.service."""
    typer.echo(unit(Path(sys.executable).parent / "fgpr-agent"), nl=False)


def unit(program: Path) -> str:
    """The unit that runs `program`."""
    return files("client_agent").joinpath(UNIT).read_text(encoding="utf-8").replace(PLACEHOLDER, str(program))
