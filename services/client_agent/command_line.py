"""What the commands of `fgpr-agent` share: options, and how they speak."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from client_agent.events import one_line
from fgpr import environment_variables
from fgpr.errors import EncodingError, FgprError
from fgpr.federated.accounting import Budget
from fgpr.ticket import PREFIX, Ticket

# Not `readable`: typer's own answer would name neither the user nor what to do.
Home = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="FGPR_HOME",
        help="Folder of this client's keys and journal.",
        show_default="~/.fgpr",
        readable=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Your settings.", show_default="agent.toml in the home", readable=False),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon", envvar="FGPR_EPSILON", min=0.0, help="Most that all rounds together may cost in privacy."
    ),
]
Delta = Annotated[
    float,
    typer.Option("--delta", envvar="FGPR_DELTA", min=0.0, max=1.0, help="Delta at which --epsilon is counted."),
]

LONGEST_NAME = 255
"""Of a file, in most systems; what is longer is a ticket that lost its beginning."""

DEFAULT_DELTA = 1e-5
DEFAULT_HOME = Path.home() / ".fgpr"


def budget_of(epsilon: float | None, delta: float) -> Budget:
    """The owner's budget.

    Raises:
        typer.BadParameter: no budget can be of these numbers.
    """
    if epsilon == 0 or not 0 < delta < 1:
        raise typer.BadParameter("--epsilon is above 0, --delta between 0 and 1")
    return Budget(epsilon=epsilon, delta=delta)


def ticket_of(given: str) -> Ticket:
    """The ticket that an option names: itself, @FILE, or - for standard input.

    Raises:
        EncodingError: it is none.
    """
    text = given
    if given == "-":
        text = sys.stdin.read()
    elif given.startswith("@"):
        # Editors of some systems begin a file with a mark.
        text = Path(given[1:]).read_text(encoding="utf-8-sig")
    try:
        return Ticket.from_text(text)
    except EncodingError as error:
        raise EncodingError(f"this is no ticket: {error}{_hint(given)}") from error


def _hint(given: str) -> str:
    if given.startswith(PREFIX) or len(given) > LONGEST_NAME or not Path(given).is_file():
        return ""
    return f"; there is a file of this name: say --ticket @{given}"


def say(text: str) -> None:
    """Print one line."""
    typer.echo(one_line(text))


@contextmanager
def telling() -> Iterator[None]:
    """Whatever is raised on purpose ends the command with one line and exit code 1; so does a mistyped variable."""
    try:
        environment_variables.check(environment_variables.AGENT, os.environ)
        yield
    except (FgprError, OSError, UnicodeDecodeError) as error:
        typer.echo(one_line(f"fgpr-agent: {error}"), err=True)
        raise typer.Exit(1) from None
