"""Mutants: one module with one of its checks deleted.

A check is a statement that does nothing but refuse: a call of `_require`, `verify...`, `check...` or `_check...`, or of
a parser whose result is thrown away; an `if` that only raises, or only gives nothing back; a loop whose condition is
the check. It is found in the syntax tree and deleted there; everything else stays as it is.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_REFUSING = re.compile(r"_?(require|verify\w*|check\w*)|from_bytes")


@dataclass(frozen=True)
class Mutant:
    """One deleted check.

    Attributes:
        module: whose check it was, a file name without its ending.
        line: where the check stood.
        text: its first line.
        source: the module without it.
    """

    module: str
    line: int
    text: str
    source: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.module}.py:{self.line} {self.text}"


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in order of the deleted lines."""
    lines = source.splitlines()
    for place, statement in enumerate(_checks(ast.parse(source))):
        tree = ast.parse(source)
        victim = list(_checks(tree))[place]
        _Deleting(victim).visit(tree)
        text = " ".join(line.strip() for line in lines[statement.lineno - 1 : statement.end_lineno])
        yield Mutant(module, statement.lineno, text[:110], ast.unparse(ast.fix_missing_locations(tree)))


def _checks(tree: ast.Module) -> Iterator[ast.stmt]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _refuses(node)]
    return iter(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def _refuses(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        return _REFUSING.fullmatch(name) is not None
    if isinstance(node, ast.If):
        return len(node.body) == 1 and not node.orelse and _gives_up(node) and not _is_the_refusal_itself(node)
    return isinstance(node, ast.While)


def _gives_up(node: ast.If) -> bool:
    (only,) = node.body
    return isinstance(only, ast.Raise) or (
        isinstance(only, ast.Return) and isinstance(only.value, ast.Constant) and only.value.value is None
    )


def _is_the_refusal_itself(node: ast.If) -> bool:
    # `_require` is one guard that all its calls share: each call is deleted on its own.
    return isinstance(node.test, ast.UnaryOp) and ast.unparse(node.test) == "not holds"


class _Deleting(ast.NodeTransformer):
    def __init__(self, victim: ast.stmt) -> None:
        self._victim = victim

    def visit(self, node: ast.AST) -> ast.AST:
        """Put `pass` in the victim's place."""
        if node is self._victim:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)
