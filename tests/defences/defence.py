"""A defence: the lines of the code that a clause of the threat model rests on, and the same lines without it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.tree import ROOT

Edit = tuple[str, str]
"""Text that stands in a file, and what stands there once the defence is gone."""


@dataclass(frozen=True)
class Defence:
    """One thing that is taken out.

    Attributes:
        row: of the table in docs/threat-model.md.
        clause: what of the row's counter it is, in a few words.
        file: where it stands, from the top of the tree.
        edits: all that is changed to take it out; each text stands there once, or once in the function that is named.
        tests: those that have to notice, from the folder of the tests.
        inside: the function or class, where its text stands in others too.
        nth: which one of several inside, from 1 on; 0 for the only one.
        postgresql: it is a defence on PostgreSQL, which the tests have to run on.
    """

    row: str
    clause: str
    file: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    inside: str = ""
    nth: int = 0
    postgresql: bool = False

    @property
    def name(self) -> str:
        """For people; no two have the same."""
        return f"{self.row} {self.clause}"

    @property
    def path(self) -> Path:
        """The file, from the top of the tree."""
        return Path(self.file)

    @property
    def ids(self) -> tuple[str, ...]:
        """The tests, from the top of the tree."""
        return tuple(f"tests/{test}" for test in self.tests)

    def places(self) -> list[int]:
        """Where each text begins in the file.

        Raises:
            ValueError: one stands there more than once, or not at all.
        """
        return [self._place(self._source(), text) for text, _ in self.edits]

    def lines(self) -> list[range]:
        """The lines that each text covers, from 1 on."""
        source = self._source()
        first = [source.count("\n", 0, place) + 1 for place in self.places()]
        return [range(line, line + text.count("\n") + 1) for line, (text, _) in zip(first, self.edits, strict=True)]

    def without(self) -> str:
        """The file without the defence.

        Raises:
            ValueError: as for `places`.
            SyntaxError: that is no Python.
        """
        source = self._source()
        pairs = sorted(zip(self.places(), self.edits, strict=True), reverse=True)
        for place, (text, instead) in pairs:
            source = source[:place] + instead + source[place + len(text) :]
        ast.parse(source)
        return source

    def _source(self) -> str:
        return (ROOT / self.file).read_text(encoding="utf-8")

    def _place(self, source: str, text: str) -> int:
        first, last = _span(source, self.inside) if self.inside else (0, len(source))
        found = source[first:last].count(text)
        if not found or (found != 1 and not self.nth) or self.nth > found:
            raise ValueError(f"{self.file}: {text!r} stands there {found} times")
        place = first - 1
        for _ in range(self.nth or 1):
            place = source.index(text, place + 1)
        return place


def taken_out(statement: str) -> Edit:
    """A statement on one line, or the head of an `if`, that does nothing any more."""
    if statement.startswith(("if ", "elif ")) and statement.endswith(":"):
        return statement, f"{statement.partition(' ')[0]} False:"
    return statement, "pass"


def defence(
    row: str,
    clause: str,
    file: str,
    before: str | Sequence[Edit],
    after: str | None = None,
    *,
    tests: str | Sequence[str],
    inside: str = "",
    nth: int = 0,
    postgresql: bool = False,
) -> Defence:
    """A line of the table; without `after` what is `before` is `taken_out`."""
    edits: tuple[Edit, ...]
    edits = tuple(before) if not isinstance(before, str) else (taken_out(before) if after is None else (before, after),)
    return Defence(
        row, clause, file, edits, (tests,) if isinstance(tests, str) else tuple(tests), inside, nth, postgresql
    )


def _span(source: str, name: str) -> tuple[int, int]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds) and node.name == name]
    if len(found) != 1:
        raise ValueError(f"there are {len(found)} of the name {name}")
    lines = source.splitlines(keepends=True)
    first = sum(len(line) for line in lines[: found[0].lineno - 1])
    return first, sum(len(line) for line in lines[: found[0].end_lineno])
