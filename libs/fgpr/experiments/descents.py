"""Several starts at the price of few: all go a little way down, and the best of them to the end."""

from collections.abc import Callable, Sequence

import numpy as np

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.optimisers import Minimum, minimise

SHORT = 25
"""Iterations of L-BFGS from every start."""

LONG = 300
"""Iterations from where the best one came to."""


def best_descent(
    objective: Callable[[Array], tuple[float, Array]],
    starts: Sequence[Array],
    lower: Array,
    upper: Array,
    tolerance: float = 1e-5,
) -> Minimum:
    """Where the most promising of some starts leads to.

    Args:
        objective: value and gradient; may raise `NumericalError`.
        starts: clipped into the box.
        lower: least values, shape (L,).
        upper: largest values.
        tolerance: on the projected gradient.

    Raises:
        NumericalError: the objective has no finite value at any start.
    """
    begun, failed = [], NumericalError("no starts")
    for start in starts:
        try:
            begun.append(minimise(objective, np.clip(start, lower, upper), lower, upper, SHORT, tolerance))
        except NumericalError as error:
            failed = error
    if not begun:
        raise failed
    best = min(begun, key=lambda one: one.value)
    return best if best.converged else minimise(objective, best.theta, lower, upper, LONG, tolerance)
