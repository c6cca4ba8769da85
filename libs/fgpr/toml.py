"""Settings written as TOML, read into values that JSON has too; what JSON has not is refused by its place."""

import tomllib
from collections.abc import Iterator
from math import isfinite
from typing import Any

from fgpr.canonical import MAX_DEPTH
from fgpr.errors import EncodingError

LARGEST = 2**53 - 1
"""Whole numbers beyond are not the same for every reader of JSON."""

EXPONENT_FROM = 1e21
"""Floats below are written as whole numbers in canonical JSON (RFC 8785), whatever their size."""


def parse(raw: bytes) -> dict[str, Any]:
    """The tables in the bytes of a TOML file.

    Raises:
        EncodingError: not UTF-8, no TOML, or a value that is no JSON: a date or time, nan or inf, a whole number beyond
            2^53 - 1, tables within tables beyond `canonical.MAX_DEPTH`; names its place, as in model.features.0.upper.
    """
    try:
        # Editors of some systems begin a file with a mark.
        value = tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise EncodingError(f"not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
    except RecursionError:
        raise EncodingError("no TOML: nested too deep") from None
    except ValueError as error:
        # Not only TOML's own: Python reads no whole number of more than 4300 digits.
        raise EncodingError(f"no TOML: {error}") from error
    for place, reason in _faults(value, "", 1):
        raise EncodingError(f"{place}: {reason}")
    return value


def _faults(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            yield place, f"nested deeper than {MAX_DEPTH}"
            return
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _faults(inner, f"{place}.{key}" if place else str(key), depth + 1)
    elif isinstance(value, float):
        if not isfinite(value):
            yield place, f"{value} is not taken, only finite numbers"
        elif LARGEST < abs(value) < EXPONENT_FROM:
            yield place, "a whole number beyond 2^53 - 1"
    elif isinstance(value, int):
        if abs(value) > LARGEST:
            yield place, "a whole number beyond 2^53 - 1"
    elif not isinstance(value, str):
        yield place, "a date or time is not taken; no setting is one"
