"""First crossings, against counting by hand and the reflection principle."""

import numpy as np
import pytest
from scipy import stats

from fgpr.errors import DataError
from fgpr.gp.first_crossing import first_crossing

AT = [10.0, 11.0, 12.0, 13.0]
DRAWN = [
    [0.0, 2.0, 0.0, 2.0],  # at 11, though it comes back
    [1.0, 0.0, 0.0, 0.0],  # at once, the threshold itself counts
    [0.0, 0.0, 0.0, 0.9],  # never
    [0.0, 0.5, 0.9, 1.5],  # at 13
]


def test_counted_by_hand() -> None:
    found = first_crossing(DRAWN, AT, 1.0, "above")
    assert found.probability.tolist() == [0.25, 0.25, 0.0, 0.25]
    assert found.none_within == 0.25
    assert found.quantiles([0.1, 0.25, 0.5, 0.75, 0.76]) == (10.0, 10.0, 11.0, 13.0, None)


def test_below_is_above_upside_down() -> None:
    above = first_crossing(DRAWN, AT, 1.0, "above")
    below = first_crossing(-np.array(DRAWN), AT, -1.0, "below")
    assert below.probability.tolist() == above.probability.tolist()


def test_a_random_walk_crosses_as_the_reflection_principle_says() -> None:
    rng = np.random.default_rng(2)
    steps = 1000
    walks = np.cumsum(rng.standard_normal((3000, steps)), axis=1) / np.sqrt(steps)
    found = first_crossing(walks, np.arange(1.0, steps + 1.0), 1.0, "above")
    # P(max of Brownian motion up to 1 >= 1) = 2 P(N >= 1); steps see it as if it were 0.5826 of a step's sd higher
    # (Broadie, Glasserman and Kou 1997).
    assert 1.0 - found.none_within == pytest.approx(2 * stats.norm.sf(1.0 + 0.5826 / np.sqrt(steps)), abs=0.03)


@pytest.mark.parametrize(
    ("samples", "at", "threshold", "direction", "said"),
    [
        ([[1.0, 2.0]], [1.0], 0.0, "above", "expected"),
        (np.empty((0, 2)), [1.0, 2.0], 0.0, "above", "expected"),
        ([[1.0, np.nan]], [1.0, 2.0], 0.0, "above", "not finite"),
        ([[1.0, 2.0]], [1.0, 2.0], np.inf, "above", "not finite"),
        ([[1.0, 2.0]], [2.0, 1.0], 0.0, "above", "has to rise"),
        ([[1.0, 2.0]], [1.0, 2.0], 0.0, "up", "'above' or 'below'"),
    ],
)
def test_what_is_no_crossing(samples: object, at: object, threshold: float, direction: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        first_crossing(samples, at, threshold, direction)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_levels_are_between_0_and_1(level: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        first_crossing(DRAWN, AT, 1.0, "above").quantile(level)
