"""`fgpr-aggregator doctor`: runs every invariant over a database and what was kept beside it, and says what to do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aggregator import kept_files
from aggregator.command_line import Database, Json, Keys, context_for, print_json, telling
from aggregator.service import checking, federations
from aggregator.service.context import Context
from aggregator.service.invariants.invariant import INVARIANTS, Violation
from fgpr import signatures
from fgpr.errors import CryptographicError

MOST_SHOWN = 5
"""Violations of one invariant that the table shows; JSON has all."""


def doctor(
    log: Annotated[
        list[Path] | None,
        typer.Option(help="File with a checkpoint or leaves of the log that were kept elsewhere; may be given again."),
    ] = None,
    journal: Annotated[
        list[Path] | None, typer.Option(help="Home of an agent, or a copy of it; may be given again.")
    ] = None,
    as_json: Json = False,
    database: Database = None,
    keys: Keys = None,
) -> None:
    """Check every invariant of the threat model, from one moment of the database; exit status 1 where one fails."""
    with telling(), context_for(database, keys) as context:
        violations = examine(context, log or [], journal or [])
        lines = report(violations, journals=bool(journal))
        if as_json:
            print_json(lines)
        else:
            _print(lines)
    if violations:
        raise typer.Exit(1)


def examine(context: Context, logs: Sequence[Path], homes: Sequence[Path]) -> list[Violation]:
    """Every violation, by number.

    Raises:
        DataError: a file is not what it should be.
        CryptographicError: the service key cannot be read.
        Unavailable: the database is away.
    """
    secrets = {"the service key": context.keys.service().private_bytes_raw()}
    known: dict[str, bytes] = {}
    suspects: list[Violation] = []
    for name, stored in federations.roster_keys(context).items():
        try:
            key = context.keys.roster(name)
        except CryptographicError:
            # Held elsewhere, or not on this machine: what the database says of it is all there is.
            continue
        secrets[f"the roster key of {name}"] = key.private_bytes_raw()
        if signatures.public_bytes(key) == stored:
            known[name] = stored
        else:
            # Whatever it was held against would fail, as if all of the database were another one.
            suspects.append(_suspect(name))
    handed = kept_files.read(logs, homes, context.service_public(), secrets, context.keys.remembered())
    found = checking.check(context.database, context.clock(), context.service_public(), known, handed)
    return sorted([*suspects, *found], key=lambda one: one.number)


def _suspect(name: str) -> Violation:
    return Violation(
        7,
        f"roster-{name}.pem beside the keys is not the roster key that the database has for federation {name}",
        f"suspect the file first: copy roster-{name}.pem from the replica or machine on which it was made, and run "
        "doctor again; where this is the right file, the database was changed: restore the newest backup that passes",
    )


def report(violations: Sequence[Violation], *, journals: bool) -> list[dict[str, Any]]:
    """One line for each invariant; `holds` is None for one that only journals could show."""
    lines: list[dict[str, Any]] = []
    for number, invariant in INVARIANTS.items():
        found = [violation.what for violation in violations if violation.number == number]
        told = [violation.remedy or invariant.remedy for violation in violations if violation.number == number]
        holds = None if invariant.by_journals and not journals and not found else not found
        lines.append(
            {
                "invariant": number,
                "words": invariant.words,
                "holds": holds,
                "looked": invariant.looked,
                "violations": found,
                "remedy": "; ".join(dict.fromkeys(told)) or None,
            }
        )
    return lines


def _print(lines: Sequence[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("invariant", ratio=3)
    table.add_column("", no_wrap=True)
    table.add_column("what, and what to do", ratio=4)
    for line in lines:
        state = {True: "holds", False: "FAILS", None: "not judged"}[line["holds"]]
        told = [str(what) for what in line["violations"][:MOST_SHOWN]]
        if len(line["violations"]) > MOST_SHOWN:
            told.append(f"and {len(line['violations']) - MOST_SHOWN} more: --json shows them")
        if line["remedy"]:
            told.append(f"What to do: {line['remedy']}.")
        if line["holds"] is None:
            told.append("needs an agent's home: --journal")
        if line["looked"]:
            told.append(f"Looked: {line['looked']}.")
        table.add_row(str(line["invariant"]), str(line["words"]), state, escape("\n".join(told)))
    Console().print(table)
