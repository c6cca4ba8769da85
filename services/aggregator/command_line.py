"""What the commands share: their options, the database that they work on, and how they tell errors."""

import errno
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from aggregator import main, variables
from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import faults
from aggregator.storage import migrate as schema
from fgpr.errors import FgprError

Database = Annotated[
    str | None, typer.Option(help="sqlite:///PATH or postgresql://...; default FGPR_DATABASE, else sqlite:///fgpr.db")
]
# Not `readable`: typer's own answer would name neither the user nor what to do.
Keys = Annotated[
    Path | None, typer.Option(help="Folder of private keys; default FGPR_KEYS, else ./keys", readable=False)
]
Origin = Annotated[
    str | None,
    typer.Option(help="Public address, as clients reach it; default FGPR_ORIGIN, else http://127.0.0.1:8000"),
]
KnownCheckpoint = Annotated[
    Path | None,
    typer.Option(
        help="File with a checkpoint that the log has to continue: what GET /v1/log/checkpoint answered, or the note "
        "alone; default FGPR_KNOWN_CHECKPOINT."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def settings_for(database: str | None, keys: Path | None, origin: str | None = None, **further: Any) -> Settings:
    """The settings of a command: its options, else the environment, else the defaults.

    Raises:
        LocalProtocolError: the environment has a variable that looks like a setting and is none.
        ValidationError: a setting has no value that it may have.
    """
    variables.check()
    given: dict[str, Any] = {"database": database, "keys": keys, "origin": origin, **further}
    return Settings(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def context_for(
    database: str | None, keys: Path | None, origin: str | None = None, *, signs: bool = False
) -> Iterator[Context]:
    """A context on a database of this program's schema.

    Args:
        database: option of the command.
        keys: the same.
        origin: the same.
        signs: whether the command signs with the service key, or names it in a ticket.

    Raises:
        LocalProtocolError: the database has another schema.
        CryptographicError: another service key signs the database's log.
        VerificationError: the command signs, and the log does not continue a checkpoint that is known outside of it.
    """
    settings = settings_for(database, keys, origin)
    context = main.create_context(settings)
    try:
        schema.check_schema(context.database)
        if signs:
            restoring.check_keys(context)
            main.check_known(settings, context)
        yield context
        if signs:
            _remember(context)
    finally:
        context.database.close()


def _remember(context: Context) -> None:
    try:
        context.keys.remember(restoring.newest_note(context))
    except FgprError as error:
        # What the command was asked for is done and told: a failure would have it done again.
        typer.echo(f"fgpr-aggregator: this is done, but its checkpoint is not kept beside the keys: {error}", err=True)


@contextmanager
def telling() -> Iterator[None]:
    """Errors as one line that says what to do, and exit code 1."""
    try:
        yield
    except ValidationError as error:
        _fail("; ".join(f"{_setting(error, fault['loc'])}{fault['msg']}" for fault in error.errors()))
    except (FgprError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, faults.Fault) as error:
        _fail(_reason(error))


def _setting(error: ValidationError, place: tuple[int | str, ...]) -> str:
    """The variable of a setting; a flag that stands above it has the same name."""
    return f"FGPR_{'_'.join(map(str, place)).upper()}: " if error.title == Settings.__name__ else ""


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no room is left on the disk of {error.filename2 or error.filename or 'the output'}: make some"
    return faults.told(error)


def _fail(reason: str) -> None:
    typer.echo(f"fgpr-aggregator: {reason}", err=True)
    raise typer.Exit(1)


def print_json(value: Any) -> None:
    """Print a value as JSON, for machines."""
    typer.echo(json.dumps(value, indent=2))
