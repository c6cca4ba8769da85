"""A descent from several starts: the lower of two valleys, whichever start leads there, and what fails."""

import numpy as np
import pytest

from fgpr.errors import NumericalError
from fgpr.experiments.descents import best_descent
from fgpr.gp.arrays import Array

LOWER, UPPER = np.array([-2.0]), np.array([2.0])


def _two_valleys(point: Array) -> tuple[float, Array]:
    """(x^2 - 1)^2 + x / 4: minima by x = 0.97 (above 0) and x = -1.03 (below 0)."""
    x = float(point[0])
    return (x * x - 1.0) ** 2 + x / 4.0, np.array([4.0 * x * (x * x - 1.0) + 0.25])


@pytest.mark.parametrize("order", [1, -1])
def test_the_lower_valley_is_taken_whichever_start_leads_there(order: int) -> None:
    starts = [np.array([0.95]), np.array([-0.95])][::order]
    found = best_descent(_two_valleys, starts, LOWER, UPPER)
    # The real root below -1 of 4 x^3 - 4 x + 1/4, by the cubic formula.
    lowest = 2.0 / np.sqrt(3.0) * np.cos(np.arccos(-3.0 * np.sqrt(3.0) / 32.0) / 3.0 + 2.0 * np.pi / 3.0)
    assert found.theta[0] == pytest.approx(lowest, abs=1e-5)
    assert best_descent(_two_valleys, starts[:1], LOWER, UPPER).theta[0] * starts[0][0] > 0.0


def test_a_start_outside_the_box_begins_at_its_side() -> None:
    begun: list[float] = []

    def objective(point: Array) -> tuple[float, Array]:
        begun.append(float(point[0]))
        return _two_valleys(point)

    best_descent(objective, [np.array([-9.0])], LOWER, UPPER)
    assert begun[0] == -2.0


def test_a_start_that_fails_is_passed_by_and_none_left_is_an_error() -> None:
    def objective(point: Array) -> tuple[float, Array]:
        if point[0] > 0.0:
            raise NumericalError("not here")
        return _two_valleys(point)

    assert best_descent(objective, [np.array([1.5]), np.array([-1.5])], LOWER, UPPER).theta[0] < -1.0
    with pytest.raises(NumericalError, match="not here"):
        best_descent(objective, [np.array([1.5])], LOWER, UPPER)


def test_slow_descents_go_on_to_the_end_from_where_the_best_came_to() -> None:
    def valley(point: Array) -> tuple[float, Array]:
        """Rosenbrock's function in ten dimensions, which takes L-BFGS more than the first short descent."""
        x, y = point[:-1], point[1:]
        gradient = np.zeros(point.size)
        gradient[:-1] = -400.0 * x * (y - x**2) - 2.0 * (1.0 - x)
        gradient[1:] += 200.0 * (y - x**2)
        return float((100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2).sum()), gradient

    found = best_descent(valley, [np.full(10, -0.5)], np.full(10, -5.0), np.full(10, 5.0))
    assert found.theta == pytest.approx(np.ones(10), abs=1e-4)
