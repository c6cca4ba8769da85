"""Cycles that remain, against closed forms of one trend, and what is said beyond the rows' reach."""

import numpy as np
import pytest
from scipy import stats

from client_agent import local_data, predict
from client_agent.remaining import Remaining, remaining
from fgpr.errors import DataError
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

CYCLE = Feature("cycle", "cycles", 0.0, 300.0)
SPEC = ModelSpec.with_default_bounds([CYCLE], Target("s4", "degR", "standardise"), "rbf")
PRIOR = Prior(SPEC, np.log([1.5, 0.05, 60.0]), 2)
CYCLES = np.arange(1.0, 101.0)
# A straight rise: 1400 at cycle 0, one degree in two cycles.
RISING = {"cycle": CYCLES, "s4": 1400.0 + 0.5 * CYCLES}


def device(own=RISING, spec=SPEC, theta=PRIOR.theta, own_scale=False):
    return predict.condition_on(Prior(spec, theta, 2), local_data.arrange(spec, own), own_scale=own_scale)


@pytest.mark.parametrize("own_scale", [False, True])
def test_a_straight_rise_crosses_where_the_line_does(own_scale):
    found = remaining(device(own_scale=own_scale), 1451.5, "above", horizon=150.0)
    # The line is at 1451.5 at cycle 103, three after the last row.
    assert found.after[2] == pytest.approx(3.0, abs=1.0)
    assert (found.last, found.horizon, found.step) == (100.0, 150.0, 1.0)
    assert found.after[0] <= found.after[1] <= found.after[2] <= found.after[3] <= found.after[4]
    assert found.sentences()[0].startswith("the trend is at or above 1451.5 degR after another ")


def test_already_across_and_never():
    assert remaining(device(), 1440.0, "above").after == (0.0,) * 5
    assert remaining(device(), 1440.0, "below", horizon=110.0).none_within == 1.0
    never = remaining(device(), 1440.0, "below", horizon=110.0)
    assert never.after == (None,) * 5
    assert never.sentences() == ["cycle 110 comes before the trend is at or below 1440 degR, with probability 1.000"]


def test_the_probability_at_one_point_is_that_of_the_normal():
    own = {"cycle": [1.0, 200.0], "s4": [1400.0, 1402.0]}
    found = remaining(device(own), 1402.2, "above", horizon=200.0 + 1e-3)
    one = device(own).predict({"cycle": [200.0]})
    # So near the last row the trend is one number.
    assert found.none_within == pytest.approx(stats.norm.cdf(1402.2, one.mean[0], one.sd_latent[0]), abs=0.02)


def test_beyond_the_reach_of_the_rows_it_says_so():
    found = remaining(device(), 1500.0, "above")
    assert found.horizon == 300.0
    # Two or three length-scales after so many good rows, and no later.
    assert 160.0 < found.reach < 280.0
    assert "the answer is the federation's prior more than this device" in found.sentences()[-1]
    assert remaining(device(), 1500.0, "above", horizon=130.0).reach is None


def test_as_json():
    told = remaining(device(), 1451.5, "above", horizon=150.0).to_json()
    assert told["remaining_quantiles"]["0.5"] == pytest.approx(3.0, abs=1.0)
    assert told["probability_none"] < 0.05
    assert told["prior_mean_from"] is None


def test_the_same_rows_give_the_same_answer():
    assert isinstance(remaining(device(), 1460.0, "above"), Remaining)
    assert remaining(device(), 1460.0, "above") == remaining(device(), 1460.0, "above")


def test_no_room_and_several_features():
    with pytest.raises(DataError, match="there is nothing between"):
        remaining(device(), 1460.0, "above", horizon=100.0)
    spec = ModelSpec.with_default_bounds([CYCLE, Feature("load", "1", 0.0, 1.0)], Target("s4", "1", "none"), "rbf")
    two = device({"cycle": [1.0], "load": [0.5], "s4": [1.0]}, spec, spec.initial_theta)
    with pytest.raises(DataError, match="2 features"):
        remaining(two, 1.0, "above")


def test_a_short_range_gets_a_grid_too():
    feature = Feature("age", "1", 0.0, 1.0)
    spec = ModelSpec.with_default_bounds([feature], Target("s4", "1", "none"), "rbf")
    found = remaining(device({"age": [0.1, 0.2], "s4": [0.0, 0.1]}, spec, spec.initial_theta), 0.5, "above")
    assert found.step == pytest.approx(0.8 / 100)
