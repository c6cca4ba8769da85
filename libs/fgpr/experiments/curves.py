"""Curves of several runs that fall: their slopes on logarithmic axes, and the floors that they come to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fgpr.gp.arrays import Array

_ABOVE = 2.0
"""Times its floor that a curve counts as above it."""
_LEAST = 4
"""Fewest points of a slope."""

_FALLING = -0.5
"""Slope of a curve's last fifth from which on it counts as still falling."""

_RESAMPLES, _INTERVAL = 2000, (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Rate:
    """How a curve of several runs falls.

    Attributes:
        slope: of log error over log iteration, from the first round until the mean curve comes within twice its floor;
            None where fewer than four points are above it.
        error: of the slope, by the jackknife over runs, with the same points; None without slope or with one run.
        late: the slope of the later half of those points in log iteration, where what was left of the start is least;
            None where they are fewer than three.
        until: the last iteration that counts as above the floor.
        floor: mean of the curve's last fifth.
        tail: the slope of that fifth; None where it has fewer than three points.
        runs: how many.
    """

    slope: float | None
    error: float | None
    late: float | None
    until: int
    floor: float
    tail: float | None
    runs: int

    @property
    def rests(self) -> bool:
        """The curve has come to its floor, as far as can be told: its last fifth falls more slowly than 1 / sqrt(t)."""
        return self.tail is not None and self.tail > _FALLING


class Floors(NamedTuple):
    """A floor over that of a smaller batch.

    Attributes:
        ratio: of the means over runs.
        low: lower end of its interval, see `ratio_of_means`.
        high: upper end.
        runs: that both have.
        rests: both curves do, see `Rate.rests`.
    """

    ratio: float
    low: float | None
    high: float | None
    runs: int
    rests: bool


def floor_of(curve: Sequence[float] | Array) -> float:
    """Where a curve ends: the mean of its last fifth."""
    return float(np.mean(curve[_last_fifth(len(curve))]))


def _last_fifth(points: int) -> slice:
    return slice(-max(1, points // 5), None)


def rate_of(curves: Sequence[Sequence[float]], iterations: Sequence[int]) -> Rate:
    """The rate of the mean of some runs.

    Args:
        curves: one a run, the error at each of `iterations`.
        iterations: rising; one that is 0 is no part of a slope.
    """
    times, values = np.array(iterations), np.array(curves)
    mean = values.mean(axis=0)
    floor = floor_of(mean)
    below = np.flatnonzero((mean <= _ABOVE * floor) & (times > 0))
    counted = np.flatnonzero(times[: below[0] if below.size else None] > 0)
    until = int(times[counted[-1]]) if counted.size else 0
    end = _last_fifth(times.size)
    tail = _slope(times[end], mean[end]) if times[end].size > 2 and times[end][0] > 0 else None
    if counted.size < _LEAST:
        return Rate(None, None, None, until, floor, tail, len(values))
    slope = _slope(times[counted], mean[counted])
    late = counted[times[counted] >= np.sqrt(times[counted[0]] * times[counted[-1]])]
    return Rate(
        slope,
        _jackknife(times[counted], values[:, counted]),
        _slope(times[late], mean[late]) if late.size > 2 else None,
        until,
        floor,
        tail,
        len(values),
    )


def floors_of(low: Sequence[Sequence[float]], high: Sequence[Sequence[float]], iterations: Sequence[int]) -> Floors:
    """One floor over another, of runs in pairs.

    Args:
        low: curves whose floor is to be the lower one, one a run.
        high: those of the same runs to hold it against.
        iterations: as of `rate_of`.
    """
    end = _last_fifth(len(iterations))
    ends = [[float(np.mean(curve[end])) for curve in curves] for curves in (low, high)]
    rests = all(rate_of(curves, iterations).rests for curves in (low, high))
    return Floors(*ratio_of_means(*ends), len(low), rests)


def ratio_of_means(ours: Sequence[float], other: Sequence[float]) -> tuple[float, float | None, float | None]:
    """One mean over another, of runs in pairs, and its interval: 90 % by the bootstrap over runs, None for one run."""
    one, two = np.array(ours), np.array(other)
    ratio = float(one.mean() / two.mean())
    if one.size < 2:
        return ratio, None, None
    drawn = np.random.default_rng(0).integers(one.size, size=(_RESAMPLES, one.size))
    low, high = np.quantile(one[drawn].mean(axis=1) / two[drawn].mean(axis=1), _INTERVAL)
    return ratio, float(low), float(high)


def _slope(times: Array, values: Array) -> float:
    return float(np.polyfit(np.log(times), np.log(values), 1)[0])


def _jackknife(times: Array, values: Array) -> float | None:
    runs = len(values)
    if runs < 2:
        return None
    without = np.array([_slope(times, np.delete(values, run, axis=0).mean(axis=0)) for run in range(runs)])
    return float(np.sqrt((runs - 1) / runs * ((without - without.mean()) ** 2).sum()))
