"""Slopes and floors of curves that are known in closed form, and what is judged of them."""

import numpy as np
import pytest

from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.rates import floor_of, judge_rates, rate_of, theorem_rate
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS, ROUNDS, TRAINING

THEOREMS = experiment_named("theorems")
TIMES = np.arange(2000)


def _curve(power: float, floor: float) -> list[float]:
    return [3.0, *(2.0 / TIMES[1:] ** power + floor).tolist()]


def _record(batch: int, seed: int, noise: list[float], variant: str = "homogeneous") -> Record:
    values = {"noise": noise, "gradient": [1.0] * len(GRADIENT_ROUNDS)}
    return Record(Cell("theorems", f"M={batch}", variant, "fgpr", seed), {}, values, 1.0)


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


def test_slopes_and_floors_are_judged() -> None:
    rounds = np.array(NOISE_ROUNDS[1:])
    falls = {8: (1.0 / rounds**2).tolist(), 40: (0.5 / rounds**0.5).tolist(), 250: (0.1 / rounds**2).tolist()}
    records = [_record(batch, seed, [2.0, *curve]) for batch, curve in falls.items() for seed in (1, 2)]
    judged = {one.name: one for one in judge_rates(THEOREMS, records)}
    slope = "slope of the noise's squared error above its floor"
    assert judged[f"homogeneous, M = 8: {slope}"].met is True
    assert judged[f"homogeneous, M = 8: {slope}"].seeds == 2
    assert judged[f"homogeneous, M = 40: {slope}"].met is False
    assert judged["homogeneous: floor at M = 40 over floor at M = 8"].met is False
    assert judged["homogeneous: floor at M = 250 over floor at M = 40"].met is True
    assert judged[f"homogeneous sampled, M = 8: {slope}"].met is None
    assert judge_rates(experiment_named("table1"), records) == []


def test_floors_are_compared_over_the_seeds_that_both_batches_have() -> None:
    def run(batch: int, seed: int, floor: float) -> Record:
        return _record(batch, seed, [floor] * len(NOISE_ROUNDS))

    records = [run(8, 1, 0.5), run(8, 2, 90.0), run(40, 1, 0.6), run(40, 3, 0.1), run(250, 4, 0.1)]
    judged = {one.name: one for one in judge_rates(THEOREMS, records)}
    floors = judged["homogeneous: floor at M = 40 over floor at M = 8"]
    assert floors.value == pytest.approx(1.2)
    assert (floors.met, floors.seeds) == (False, 1)
    floors = judged["homogeneous: floor at M = 250 over floor at M = 40"]
    assert (floors.value, floors.met, floors.seeds) == (None, None, 0)


def test_iterations_count_local_steps() -> None:
    rate = theorem_rate([_record(8, 1, [1.0 / (t + 1) for t in NOISE_ROUNDS])], 8, "homogeneous", "noise")
    assert rate is not None
    assert rate.until % TRAINING.steps == 0
    assert 0 < rate.until < ROUNDS * TRAINING.steps
    assert theorem_rate([], 8, "homogeneous", "noise") is None
