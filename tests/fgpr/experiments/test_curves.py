"""Slopes and floors of curves that are known in closed form."""

import numpy as np
import pytest

from fgpr.experiments.curves import floor_of, floors_of, rate_of

TIMES = np.arange(2000)


def _curve(power: float, floor: float) -> list[float]:
    return [3.0, *(2.0 / TIMES[1:] ** power + floor).tolist()]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_power_without_a_floor_has_its_exponent(power: float) -> None:
    found = rate_of([_curve(power, 0.0)], TIMES.tolist())
    assert found.slope == pytest.approx(-power, abs=1e-9)
    assert found.late == pytest.approx(-power, abs=1e-9)
    assert found.error is None


def test_only_what_is_above_twice_the_floor_counts() -> None:
    found = rate_of([_curve(1.0, 1e-2)], TIMES.tolist())
    # 2 / t + 0.01 comes to twice 0.01 plus the mean of the last fifth of 2 / t.
    assert found.floor == pytest.approx(0.01 + np.mean(2.0 / TIMES[1600:]), rel=1e-6)
    assert found.until == pytest.approx(2.0 / (2 * found.floor - 0.01), abs=1.0)
    assert -1.0 < (found.slope or 0.0) < -0.8


def test_a_steep_beginning_shows_in_the_later_half() -> None:
    curve = [1.0, *np.where(TIMES[1:] < 30, 1.0 / TIMES[1:] ** 3.0, 30.0**-2 / TIMES[1:]).tolist()]
    found = rate_of([curve], TIMES.tolist())
    assert found.slope is not None
    assert found.slope < -1.2
    assert found.late == pytest.approx(-1.0, abs=0.01)


def test_a_flat_curve_has_no_slope() -> None:
    assert rate_of([[1.0] * 20], list(range(20))).slope is None
    assert floor_of([5.0] * 40 + [2.0] * 10) == 2.0


def test_the_error_is_that_of_the_jackknife() -> None:
    rng = np.random.default_rng(0)
    runs = [[factor * value for value in _curve(1.0, 0.0)] for factor in rng.uniform(0.5, 2.0, 12)]
    # Runs that differ by a factor alone have one slope.
    assert rate_of(runs, TIMES.tolist()).error == pytest.approx(0.0, abs=1e-9)
    powers = rng.normal(1.0, 0.05, 12)
    found = rate_of([_curve(power, 0.0) for power in powers], TIMES.tolist())
    assert found.error == pytest.approx(0.05 / np.sqrt(12), rel=0.6)


def test_a_curve_rests_where_its_end_no_longer_falls() -> None:
    falls = rate_of([_curve(1.0, 0.0)], TIMES.tolist())
    assert falls.tail == pytest.approx(-1.0, abs=1e-6)
    assert not falls.rests
    assert rate_of([_curve(1.0, 0.1)], TIMES.tolist()).rests
    slow, fast = (rate_of([_curve(power, 0.0)], TIMES.tolist()).rests for power in (0.45, 0.55))
    assert (slow, fast) == (True, False)
    # Two points have no slope that says anything.
    few = rate_of([[1.0] * 10], list(range(10)))
    assert few.tail is None
    assert not few.rests


def test_a_ratio_of_floors_has_the_spread_of_its_runs() -> None:
    rng = np.random.default_rng(1)
    floors = rng.lognormal(0.0, 0.3, (2, 60))
    low, high = ([[floor] * 10 for floor in one] for one in (0.5 * floors[0], floors[1]))
    found = floors_of(low, high, list(range(10)))
    assert found.ratio == pytest.approx(0.5 * floors[0].mean() / floors[1].mean())
    # By the delta method: the log of a ratio of means has the sum of two squared relative standard errors.
    errors = [one.std(ddof=1) / one.mean() / np.sqrt(60) for one in floors]
    wide = 1.645 * np.hypot(*errors)
    assert found.low is not None
    assert found.high is not None
    assert np.log(found.high / found.ratio) == pytest.approx(wide, rel=0.2)
    assert np.log(found.ratio / found.low) == pytest.approx(wide, rel=0.2)
    assert found.runs == 60
    assert floors_of(low[:1], high[:1], list(range(10)))[1:3] == (None, None)
    # Pairs that differ by one factor leave no doubt of it.
    sure = floors_of(low, [[2.0 * value for value in curve] for curve in low], list(range(10)))
    assert [sure.low, sure.high] == pytest.approx([0.5, 0.5])
