"""Reads the text form of a covariance, strictly: every fault names its place, counted in characters from 1.

    sum     = product *( "+" product )
    product = [ number "*" ] kernel *( "*" kernel )
    kernel  = name [ "(" argument *( "," argument ) ")" ]
    argument = feature / key "=" number

A name is one of `fgpr.gp.kernels.catalogue.KINDS`; a feature is a bare word or a JSON string; a number is an unsigned
decimal above 0. Spaces may stand between all of these. Features come before keys.
"""

import json
import math
import re
from typing import NoReturn

from fgpr.errors import EncodingError
from fgpr.gp.kernels.catalogue import KINDS, SIGNAL_KEY, KernelKind
from fgpr.gp.kernels.expression import BARE_NAME, Component, Expression, Term

MAX_TEXT = 4096
"""Characters of an expression."""

MAX_COMPONENTS = 16
"""Kernels in an expression."""

_SPACE = re.compile(r"[ \t\n]*")
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KERNEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9/-]*")
_KEY = re.compile(r"([a-z][a-z-]*)[ \t\n]*=")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def parse(text: str) -> Expression:
    """The expression that a text says.

    Raises:
        EncodingError: not of the form above, an unknown name or key, a number out of its limits, or too long; names
            the place and what was expected.
    """
    if len(text) > MAX_TEXT:
        raise EncodingError(f"a kernel of {len(text)} characters: at most {MAX_TEXT}")
    reader = _Reader(text)
    terms = [_product(reader)]
    while reader.take("+"):
        terms.append(_product(reader))
    if not reader.at_end:
        reader.fail("expected '+', '*' or the end; a sum inside a product is written out as a sum of products")
    expression = Expression(tuple(terms))
    if len(expression.components) > MAX_COMPONENTS:
        raise EncodingError(f"a kernel of {len(expression.components)} parts: at most {MAX_COMPONENTS}")
    return expression


class _Reader:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._skip()

    @property
    def at_end(self) -> bool:
        return self._place == len(self._text)

    @property
    def place(self) -> int:
        return self._place

    def take(self, symbol: str) -> bool:
        """Go past a symbol, if it is next."""
        return self.match(re.compile(re.escape(symbol))) is not None

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go past what matches, if something does."""
        found = pattern.match(self._text, self._place)
        if found is not None:
            self._place = found.end()
            self._skip()
        return found

    def fail(self, reason: str, place: int | None = None) -> NoReturn:
        at = self._place if place is None else place
        raise EncodingError(f"kernel {self._text!r}, character {at + 1}: {reason}")

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._place)
        self._place = space.end() if space else self._place


def _product(reader: _Reader) -> Term:
    place = reader.place
    signal_sd = _number(reader, SIGNAL_KEY)
    if signal_sd is not None and not reader.take("*"):
        reader.fail("expected '*' and a kernel after a number; the start value of a signal sd is written 0.5 * rbf")
    components = [_component(reader)]
    while reader.take("*"):
        components.append(_component(reader))
    if len(components) > 1 and all(component.name == "constant" for component in components):
        reader.fail("a product of constants is a constant", place)
    return Term(tuple(components), signal_sd)


def _component(reader: _Reader) -> Component:
    place = reader.place
    found = reader.match(_KERNEL_NAME)
    if found is None:
        reader.fail("expected the name of a kernel")
    name = found.group()
    if name not in KINDS:
        reader.fail(f"no kernel is named {name!r}; known are {', '.join(KINDS)}", place)
    kind = KINDS[name]
    features: list[str] = []
    numbers: dict[str, float] = {}
    if reader.take("("):
        _argument(reader, kind, features, numbers)
        while reader.take(","):
            _argument(reader, kind, features, numbers)
        if not reader.take(")"):
            reader.fail("expected ',' or ')'")
    for key in kind.fixed or ():
        if key not in numbers:
            reader.fail(f"{name} needs a number, for instance {name}({key}=1)", place)
    try:
        kind.check(numbers)
    except EncodingError as error:
        reader.fail(str(error), place)
    return Component(name, tuple(features), tuple((key, numbers[key]) for key in kind.keys if key in numbers))


def _argument(reader: _Reader, kind: KernelKind, features: list[str], numbers: dict[str, float]) -> None:
    place = reader.place
    found = reader.match(_KEY)
    if found is None:
        _feature(reader, kind, features, bool(numbers))
        return
    key = found.group(1)
    if key not in kind.keys:
        known = f"known are {', '.join(kind.keys)}" if kind.keys else "it takes none"
        reader.fail(f"{kind.name} has no number named {key!r}; {known}", place)
    if key in numbers:
        reader.fail(f"{key} is given twice", place)
    value = _number(reader, key)
    if value is None:
        reader.fail("expected a number, an unsigned decimal")
    numbers[key] = value


def _feature(reader: _Reader, kind: KernelKind, features: list[str], after_numbers: bool) -> None:
    place = reader.place
    quoted = reader.match(_QUOTED)
    if quoted is not None:
        try:
            name: str = json.loads(quoted.group())
        except ValueError as error:
            reader.fail(f"not a JSON string: {error}", place)
    else:
        bare = reader.match(BARE_NAME)
        if bare is None:
            reader.fail("expected a feature's name, in double quotes if it is no plain word, or key=number")
        name = bare.group()
    if not kind.on_features:
        reader.fail(f"{kind.name} acts on no feature", place)
    if after_numbers:
        reader.fail("features come before numbers", place)
    if name in features:
        reader.fail(f"feature {name!r} is named twice", place)
    features.append(name)


def _number(reader: _Reader, what: str) -> float | None:
    place = reader.place
    found = reader.match(_NUMBER)
    if found is None:
        return None
    value = float(found.group())
    if not (math.isfinite(value) and value > 0):
        reader.fail(f"{what} is {found.group()}: expected a finite number above 0", place)
    return value
