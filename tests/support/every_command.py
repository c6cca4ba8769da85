"""All commands of a program, for what has to hold for each of them."""

from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command


def commands(app: typer.Typer) -> Iterator[tuple[list[str], TyperCommand]]:
    """Each with the words that call it."""
    yield from _below(get_command(app), [])


def calls(app: typer.Typer, **given: str) -> list[list[str]]:
    """Each command as it is called.

    Args:
        app: the program.
        given: values by name of the parameter, for all that must be given; 1 for others.
    """
    found = []
    for words, command in commands(app):
        for parameter in command.params:
            if parameter.required:
                value = given.get(parameter.name or "", "1")
                words += [value] if isinstance(parameter, TyperArgument) else [parameter.opts[0], value]
        found.append(words)
    return found


def _below(command: object, words: list[str]) -> Iterator[tuple[list[str], TyperCommand]]:
    if isinstance(command, TyperGroup):
        for name, one in command.commands.items():
            yield from _below(one, [*words, name])
    elif isinstance(command, TyperCommand):
        yield words, command
