"""Weights of clients: what one says of its number of observations.

Totals of many rounds whose cohorts differ can be solved for every weight. "exact" says the number (the paper's rule),
"classes" one of five powers of two, "uniform" nothing.
"""

from typing import Literal

from fgpr.errors import EncodingError

Weighting = Literal["exact", "classes", "uniform"]

LARGEST_CLASS = 16
"""The classes are 1, 2, 4, 8 and 16."""


def weight_of(weighting: Weighting, unit: int | None, observations: int) -> int:
    """The weight of a client, before the codec's cap.

    Args:
        weighting: the plan's rule.
        unit: observations that are worth a weight of 1; only with "classes".
        observations: n_k.

    Returns:
        n_k; or the power of two in 1..16 whose ratio to n_k / unit is nearest to 1; or 1.

    Raises:
        EncodingError: no observations, or a unit where none belongs or none where one does.
    """
    check_unit(weighting, unit)
    if observations < 1:
        raise EncodingError(f"{observations} observations: a client without any sends nothing")
    if weighting == "uniform":
        return 1
    if unit is None:
        return observations
    weight = 1
    # Between w and 2w the border is at sqrt(2) w units, which no whole number meets.
    while weight < LARGEST_CLASS and observations**2 > 2 * (weight * unit) ** 2:
        weight *= 2
    return weight


def check_unit(weighting: Weighting, unit: int | None) -> None:
    """Check that exactly "classes" have a unit of at least 1.

    Raises:
        EncodingError: they do not agree.
    """
    if (weighting == "classes") != (unit is not None) or (unit is not None and unit < 1):
        raise EncodingError(
            f"weighting {weighting!r} with weight_unit {unit}: a unit from 1 belongs to 'classes' alone"
        )
