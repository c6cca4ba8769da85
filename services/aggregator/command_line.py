"""What the commands share: their options, the database that they work on, and how they tell errors."""

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from aggregator import main
from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import faults
from aggregator.storage import migrate as schema
from fgpr import environment_variables
from fgpr.errors import EncodingError, FgprError
from fgpr.message import NAME_PATTERN

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

ARGUMENTS = {"client": "PARTY", "name": "NAME", "reason": "--reason"}
"""What a field of a message is called on the command line."""


def settings_for(database: str | None, keys: Path | None, origin: str | None = None, **further: Any) -> Settings:
    """The settings of a command: its options, else the environment, else the defaults.

    Raises:
        ValidationError: a setting has no value that it may have.
    """
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
def naming(file: Path) -> Iterator[None]:
    """Refusals of what a file holds begin with its name.

    Raises:
        EncodingError: what was refused within.
    """
    try:
        yield
    except EncodingError as error:
        raise EncodingError(f"{file}: {error}") from error


@contextmanager
def telling() -> Iterator[None]:
    """Errors as one line that says what to do, and exit code 1; a mistyped variable is one."""
    try:
        environment_variables.check(environment_variables.AGGREGATOR, os.environ, any_case=True)
        yield
    except ValidationError as error:
        _fail("; ".join(f"{_place(error, fault['loc'])}: {_wrong(fault)}" for fault in error.errors()))
    except (FgprError, OSError, UnicodeDecodeError, faults.Fault) as error:
        _fail(_reason(error))


def _place(error: ValidationError, place: tuple[int | str, ...]) -> str:
    """What was given wrong: the variable of a setting, whose flag has the same name, or an argument."""
    if error.title == Settings.__name__:
        return f"FGPR_{'_'.join(map(str, place)).upper()}"
    name = ".".join(map(str, place))
    return ARGUMENTS.get(name, name)


def _wrong(fault: Mapping[str, Any]) -> str:
    name = fault["type"] == "string_pattern_mismatch" and fault["ctx"]["pattern"] == NAME_PATTERN
    return "takes a-z, 0-9 and -, 1 to 64 characters" if name else str(fault["msg"])


def _reason(error: Exception) -> str:
    if not isinstance(error, OSError):
        return faults.told(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no room is left on the disk of {error.filename2 or error.filename or 'the output'}: make some"
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)


def _fail(reason: str) -> None:
    typer.echo(f"fgpr-aggregator: {reason}", err=True)
    raise typer.Exit(1)


def print_json(value: Any) -> None:
    """Print a value as JSON, for machines."""
    typer.echo(json.dumps(value, indent=2))
