import numpy as np
import pytest

from demo import fleet
from fgpr.federated.fedavg import Contribution
from fgpr.secagg.encoding import Codec
from fgpr.secagg.planning import AggregationRules
from liars.__main__ import outvoted
from liars.attacked import LIES, SHIFT, Outcome, at_a_bound, run, shifted
from liars.campaign import FEDERATIONS, Trial, cells, honest_costs, trials

CODEC = Codec(("a", "b"), (-1.0, -4.0), (3.0, 4.0), weight_cap=500)
MADE = Contribution("engine-001", np.array([0.25, -1.0]), 7)


def test_lies_are_in_range_and_as_heavy_as_they_may_be() -> None:
    lie = at_a_bound(MADE, np.array([0.0, 1.0]), CODEC)
    assert (np.asarray(lie.theta).tolist(), lie.weight) == ([3.0, -4.0], 500)
    lie = shifted(MADE, np.zeros(2), CODEC)
    assert (np.asarray(lie.theta).tolist(), lie.weight) == ([0.25 + SHIFT, -1.0 + SHIFT], 500)


def test_every_federation_has_its_honest_run_and_all_lies() -> None:
    found = trials(None, (1, 2), (0, 1), 3)
    assert len(found) == len(set(found)) == len(FEDERATIONS) * 2 * (1 + 2 * len(LIES))
    assert sum(trial.lie is None for trial in found) == 2 * len(FEDERATIONS)


def test_a_cell_holds_runs_against_the_honest_run_of_the_same_federation_and_seed() -> None:
    name = "mean, trust region"
    outcomes = {
        Trial(name, None, 0, 0, 4, None): Outcome(np.array([1.0, 1.0]), 0, 0.5),
        Trial(name, None, 0, 1, 4, None): Outcome(np.array([2.0, 2.0]), 0, 0.5),
        Trial(name, "shifted", 2, 0, 4, None): Outcome(np.array([4.0, 5.0]), 3, 0.75),
        Trial(name, "shifted", 2, 1, 4, None): Outcome(np.array([2.0, 1.0]), 1, 0.5),
    }
    (cell,) = cells(outcomes)
    assert (cell.federation, cell.lie, cell.liars) == (name, "shifted", 2)
    assert (cell.farthest, cell.norm, cell.rmse_ratio, cell.detected) == ((4 + 1) / 2, (5 + 1) / 2, 1.5, 0.5)
    assert not outvoted(cell)


def test_costs_are_beside_the_plain_mean() -> None:
    outcomes = {
        Trial(name, None, 0, seed, 1, None): Outcome(np.zeros(2), 0, 0.5 + place / 10)
        for place, name in enumerate(FEDERATIONS)
        for seed in (0, 1)
    }
    costs = list(honest_costs(outcomes).values())
    assert costs == pytest.approx([1.0, 1.2, 1.4, 1.6, 1.8, 2.0])


def test_a_liar_among_fifteen_is_the_mean_and_loses_against_the_median() -> None:
    engines = fleet.gather(None, 4, 15, 2, 0)
    liar = engines.clients[3].name

    def shift(rules: AggregationRules) -> tuple[float, int]:
        honest = run(engines, rules, (), None, 1, 0)
        lying = run(engines, rules, (liar,), at_a_bound, 1, 0)
        return float(np.max(np.abs(lying.theta - honest.theta))), lying.fired

    assert shift(AggregationRules())[0] > 3.0
    assert shift(AggregationRules(groups=3, combine="median"))[0] < 0.3
    # The region holds the round back, so that the theta stays at its start.
    assert shift(AggregationRules(largest_step=0.75))[1] == 1
