"""An owner's units and the federation's: columns converted from one to the other by pint, offsets and all."""

from functools import cache
from tokenize import TokenError
from typing import Any

import numpy as np

from client_agent.datafile import FloatArray
from fgpr.errors import DataError

DEFINITIONS = ("psia = psi", "g0 = standard_gravity")
"""Units that engine owners write and pint does not know; absolute pressure is meant, gauge pressure needs an offset."""


def convert(values: FloatArray, column: str, own: str, wanted: str) -> FloatArray:
    """Values in the federation's unit.

    Args:
        values: shape (rows,), in the owner's unit.
        column: the owner's name of the column, for messages.
        own: the owner's unit; the same text as `wanted` is never looked up, whatever it says.
        wanted: the federation's unit.

    Raises:
        DataError: a unit that is unknown, one that the other cannot be converted to, or an angle against none.
    """
    if own == wanted:
        return values
    registry, errors = _registry()
    units = [_unit(column, text, whose) for text, whose in ((own, "own"), (wanted, "federation's"))]
    try:
        converted = registry.Quantity(values, units[0]).to(units[1]).magnitude
    except errors.DimensionalityError as error:
        raise DataError(
            f"column {column!r}: {own!r} ({error.dim1}) cannot be converted to the federation's {wanted!r} "
            f"({error.dim2}): is the unit right, and the column?".replace("  ", " ")
        ) from error
    # Pint has no dimension of angles: a turn is the number 6.28, and so 60 rpm would become 6.28 Hz.
    if _angle(units[0]) != _angle(units[1]):
        raise DataError(
            f"column {column!r}: of {own!r} and the federation's {wanted!r}, one counts angles or turns and the other "
            "does not, so that a turn might mean 1 or 6.28: convert the column yourself, and leave its unit out"
        )
    return np.asarray(converted, dtype=np.float64)


def explain(own: str, wanted: str) -> str:
    """What a conversion does, for people: where two values of the own unit go."""
    low, high = convert(np.array([0.0, 1.0]), "", own, wanted)
    return f"{own} to {wanted}: 0 becomes {low:.6g}, 1 becomes {high:.6g}"


def _angle(unit: Any) -> float:
    """The power of an angle in a unit: 1 in rpm and rad, 0 in Hz."""
    registry, _ = _registry()
    _, root = registry.get_root_units(unit, check_nonmult=False)
    return float(root._units.get("radian", 0))


def _unit(column: str, text: str, whose: str) -> Any:
    registry, errors = _registry()
    try:
        return registry.parse_units(text)
    except (errors.PintError, ValueError, TypeError, AttributeError, SyntaxError, TokenError, AssertionError) as error:
        raise DataError(
            f"column {column!r}: no unit is known by the {whose} name {text!r}: write it as in 'degC', 'K', 'psi', "
            "'kPa', 'rpm' or 'kg/s', or leave the unit out where the column is in the federation's unit already"
        ) from error


@cache
def _registry() -> tuple[Any, Any]:
    # Only where a unit differs: reading pint's definitions takes a good part of a second.
    import pint

    registry: Any = pint.UnitRegistry(autoconvert_offset_to_baseunit=False, cache_folder=None)
    for definition in DEFINITIONS:
        registry.define(definition)
    return registry, pint.errors
