"""The command line of an agent, called in this process."""

from typing import Any

from typer.testing import CliRunner, Result

from client_agent.cli import app


def fgpr_agent(*arguments: Any, **options: Any) -> Result:
    """Run `fgpr-agent` with these arguments, and an environment without a terminal's width."""
    environment = {"COLUMNS": "200"} | options.pop("env", {})
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment, **options)
