"""What is judged of the theorems' curves."""

import numpy as np
import pytest

from fgpr.experiments.catalogue import experiment_named
from fgpr.experiments.rates import judge_rates, theorem_floors, theorem_rate, words_of_rates
from fgpr.experiments.records import Cell, Record
from fgpr.experiments.theorems import GRADIENT_ROUNDS, NOISE_ROUNDS, ROUNDS, TRAINING

THEOREMS = experiment_named("theorems")


def _record(batch: int, seed: int, noise: list[float], variant: str = "homogeneous") -> Record:
    values = {"noise": noise, "gradient": [1.0] * len(GRADIENT_ROUNDS)}
    return Record(Cell("theorems", f"M={batch}", variant, "fgpr", seed), {}, values, 1.0)


def test_slopes_and_floors_are_judged() -> None:
    rounds = np.array(NOISE_ROUNDS[1:])
    falls = {
        8: (1.0 / rounds**2 + 1e-4).tolist(),
        40: (0.5 / rounds**0.5 + 0.1).tolist(),
        250: (0.1 / rounds**2 + 1e-4).tolist(),
    }
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


def test_the_end_of_a_curve_that_still_falls_is_no_floor() -> None:
    rounds = np.array(NOISE_ROUNDS[1:])
    falls = {8: 1.0 / rounds, 40: 1e-4 + 0.0 * rounds, 250: 1e-5 + 0.0 * rounds}
    records = [_record(batch, seed, [2.0, *curve.tolist()]) for batch, curve in falls.items() for seed in (1, 2)]
    judged = {one.name: one for one in judge_rates(THEOREMS, records)}
    falling = judged["homogeneous: floor at M = 40 over floor at M = 8, still falling"]
    assert falling.met is None
    assert falling.value is not None
    assert judged["homogeneous: floor at M = 250 over floor at M = 40"].met is True
    # A floor that is above the end of another one's fall is above its floor.
    high = [_record(40, seed, [2.0, *(0.0 * rounds + 1.0).tolist()]) for seed in (1, 2)]
    judged = {one.name: one for one in judge_rates(THEOREMS, [*records[:2], *high])}
    assert judged["homogeneous: floor at M = 40 over floor at M = 8"].met is False
    told = "\n".join(words_of_rates(THEOREMS, records))
    assert "| homogeneous | M = 40 | M = 8, still falling |" in told
    assert "| homogeneous | M = 250 | M = 40 | 0.10 | 0.10 to 0.10 | 2 |" in told


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
    assert theorem_floors(records, "homogeneous", 40, 250) is None


def test_iterations_count_local_steps() -> None:
    rate = theorem_rate([_record(8, 1, [1.0 / (t + 1) for t in NOISE_ROUNDS])], 8, "homogeneous", "noise")
    assert rate is not None
    assert rate.until % TRAINING.steps == 0
    assert 0 < rate.until < ROUNDS * TRAINING.steps
    assert theorem_rate([], 8, "homogeneous", "noise") is None
