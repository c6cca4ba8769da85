"""Fields of a line of results: of which kind each has to be, so that tables and pictures never meet another."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_LARGEST = 1e100
"""Size of a number whose square is still one."""

_SHOWN = 60
"""Characters of what was found that a message shows."""


class _Kind(NamedTuple):
    """What a field may be.

    Attributes:
        told: in words.
        holds: whether something is of it.
    """

    told: str
    holds: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """A finite number, which neither a truth value nor NaN is."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def _is_text(value: Any) -> bool:
    # Half a surrogate pair can be in JSON, but in no file that is written as UTF-8.
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(map(is_number, values))


_TEXT = _Kind("text", _is_text)
_WHOLE = _Kind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
_AMOUNT = _Kind("a finite number of at least 0", lambda value: is_number(value) and value >= 0)
_ABOVE = _Kind("a finite number above 0", lambda value: is_number(value) and value > 0)
_NUMBERS = _Kind("a list of finite numbers", _are_numbers)
_AMOUNTS = _Kind("a list of finite numbers of at least 0", lambda value: _are_numbers(value) and min(value) >= 0)
_OBJECT = _Kind("an object", lambda value: isinstance(value, dict))
_TEXTS = _Kind(
    "an object of texts", lambda value: isinstance(value, dict) and all(map(_is_text, (*value, *value.values())))
)
_LIST = _Kind("a list of at least one", lambda value: isinstance(value, list) and bool(value))
_PAIR = _Kind(
    "two lists of one length, of finite numbers",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_are_numbers, value)) and _alike(*value),
)

_FIELDS: Mapping[str, _Kind] = {
    "experiment": _TEXT,
    "item": _TEXT,
    "variant": _TEXT,
    "system": _TEXT,
    "seed": _WHOLE,
    "values": _OBJECT,
    "settings": _OBJECT,
    "seconds": _AMOUNT,
    "versions": _TEXTS,
}

_VALUES: Mapping[str, _Kind] = {
    # Ratios of errors are targets, so that none of them is 0.
    "rmse": _ABOVE,
    "sd": _AMOUNT,
    "noise sd": _AMOUNT,
    "kernel": _TEXT,
    "posteriors": _LIST,
    **dict.fromkeys(("noise", "theta", "gradient", "curve"), _AMOUNTS),
}
"""Those that the report reads; a system may say more, in any form."""

_POSTERIOR: Mapping[str, _Kind] = {
    "title": _TEXT,
    "x": _NUMBERS,
    "mean": _NUMBERS,
    "truth": _NUMBERS,
    "rows": _PAIR,
}


def fault_of(whole: Any) -> str | None:
    """What is wrong with a line, as the field, what was found and what was expected; None where nothing is.

    Args:
        whole: the line, read from JSON.
    """
    if not isinstance(whole, dict):
        return f"found {_short(whole)}, expected an object"
    return next(_faults(whole), None)


def fault_of_values(values: Mapping[str, Any]) -> str | None:
    """As `fault_of`, of the values of a run that had no error."""
    return next(_faults_of_values(values, None), None)


def _faults(whole: Mapping[str, Any]) -> Iterator[str]:
    yield from _unlike(whole, _FIELDS, "")
    error = whole.get("error")
    if error is not None and not (isinstance(error, str) and error):
        yield f"error: found {_short(error)}, expected text that is not empty"
    yield from _faults_of_values(whole["values"], error)


def _faults_of_values(values: Mapping[str, Any], error: str | None) -> Iterator[str]:
    if not values and error is None:
        yield "values: found {}, expected what the run found, or else an error"
    known = {name: kind for name in values if (kind := _kind_of(name))}
    yield from _unlike(values, known, "values.")
    for place, one in enumerate(values.get("posteriors", ())):
        yield from _faults_of_posterior(one, f"values.posteriors[{place}]")


def _kind_of(name: str) -> _Kind | None:
    return _ABOVE if name.startswith(("rmse of ", "rmse by ")) else _VALUES.get(name)


def _faults_of_posterior(one: Any, name: str) -> Iterator[str]:
    if not isinstance(one, dict):
        yield f"{name}: found {_short(one)}, expected an object"
        return
    yield from _unlike(one, {**_POSTERIOR, "sd": _AMOUNTS} if "sd" in one else _POSTERIOR, f"{name}.")
    for key in ("mean", "truth", "sd"):
        if key in one and not _alike(one[key], one["x"]):
            yield f"{name}.{key}: found {len(one[key])} numbers, expected {len(one['x'])}, one for each of x"


def _unlike(whole: Mapping[str, Any], kinds: Mapping[str, _Kind], above: str) -> Iterator[str]:
    """One sentence a field that is not there or not of its kind."""
    for name, kind in kinds.items():
        if name not in whole:
            yield f"{above}{name}: not there, expected {kind.told}"
        elif not kind.holds(whole[name]):
            yield f"{above}{name}: found {_short(whole[name])}, expected {kind.told}"


def _alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other)


def _short(found: Any) -> str:
    text = json.dumps(found, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
