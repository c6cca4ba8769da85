"""Predictions in the target's own units, and the prior that they rest on."""

import csv
import io

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from client_agent import predict
from fgpr.errors import DataError
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

CYCLE = Feature("cycle", "1", 0.0, 100.0)
SPEC = ModelSpec.with_default_bounds([CYCLE], Target("T24", "degR", "standardise"), "rbf")
SIGNAL, NOISE, LENGTH = 1.3, 0.4, 12.0
PRIOR = Prior(SPEC, np.log([SIGNAL, NOISE, LENGTH]), 4)
OWN = {"cycle": np.array([1.0, 5.0, 9.0, 20.0, 33.0]), "T24": np.array([642.0, 641.5, 643.5, 644.0, 643.0])}
AT = {"cycle": np.array([2.0, 40.0, 95.0])}


def test_same_as_scikit_learn_in_original_units():
    mean, sd = OWN["T24"].mean(), OWN["T24"].std()
    kernel = ConstantKernel(SIGNAL**2, "fixed") * RBF(LENGTH, "fixed")
    regressor = GaussianProcessRegressor(kernel + WhiteKernel(NOISE**2, "fixed"), alpha=0.0, optimizer=None)
    regressor.fit(OWN["cycle"][:, None], (OWN["T24"] - mean) / sd)
    expected, observation = regressor.predict(AT["cycle"][:, None], return_std=True)
    rows = predict.predict(PRIOR, OWN, AT)
    assert rows.mean == pytest.approx(mean + sd * expected, rel=1e-10)
    assert rows.sd_observation == pytest.approx(sd * observation, rel=1e-10)
    assert rows.sd_latent**2 == pytest.approx(rows.sd_observation**2 - (sd * NOISE) ** 2, rel=1e-8)
    # 1.96 from any table of the normal distribution.
    assert rows.upper_95 - rows.mean == pytest.approx(1.95996398 * rows.sd_observation, rel=1e-8)
    assert rows.mean - rows.lower_95 == pytest.approx(1.95996398 * rows.sd_observation, rel=1e-8)


def test_rows_beyond_the_memory_are_predicted_by_their_neighbours():
    twice = {name: [*values, *values] for name, values in OWN.items()}
    exact = predict.predict(PRIOR, twice, AT)
    # Room for a matrix of five rows and not of ten, which are five inputs.
    near = predict.predict(PRIOR, twice, AT, memory_limit=8 * 5 * 5)
    assert (exact.method, near.method) == ("exact", "nearest neighbours")
    assert near.mean == pytest.approx(exact.mean, rel=1e-12)
    assert near.sd_observation == pytest.approx(exact.sd_observation, rel=1e-12)


def test_constant_target_still_predicts():
    rows = predict.predict(PRIOR, {"cycle": [1.0, 2.0], "T24": [642.0, 642.0]}, AT)
    assert rows.mean == pytest.approx([642.0] * 3)
    # Far away nothing is known but the prior: signal and noise, in the target's units (sd 1 for a constant one).
    assert rows.sd_observation[2] == pytest.approx(np.hypot(SIGNAL, NOISE), rel=1e-6)


@pytest.mark.parametrize(
    ("own", "at", "said"),
    [
        ({"cycle": [], "T24": []}, AT, "no rows"),
        ({"cycle": [1.0]}, AT, "no column for the target T24; there are cycle"),
        ({"cycle": [1.0, 2.0], "T24": [1.0]}, AT, "1 targets for 2 rows"),
        (OWN, {"T24": [1.0]}, "no column for feature cycle"),
        (OWN, {"cycle": [100.5]}, "row 1: cycle is 100.5"),
        (OWN, {"cycle": [float("nan")]}, "not a finite number"),
    ],
)
def test_bad_rows_are_refused(own, at, said):
    with pytest.raises(DataError, match=said):
        predict.predict(PRIOR, own, at)


def test_target_of_another_name():
    renamed = {"cycle": OWN["cycle"], "s2": OWN["T24"]}
    assert np.array_equal(predict.predict(PRIOR, renamed, AT, target="s2").mean, predict.predict(PRIOR, OWN, AT).mean)


@pytest.mark.parametrize(
    ("start", "stop", "step", "points"),
    [
        (0.0, 1.0, 0.1, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (1.0, 6.0, 2.0, [1.0, 3.0, 5.0]),
        (3.0, 3.0, 1.0, [3.0]),
    ],
)
def test_grid(start, stop, step, points):
    columns = predict.grid(SPEC, start, stop, step)
    assert list(columns) == ["cycle"]
    assert columns["cycle"] == pytest.approx(points)
    assert columns["cycle"].max() <= stop


@pytest.mark.parametrize(
    "numbers", [(0, 1, 0), (0, 1, -1), (2, 1, 1), (0, float("inf"), 1), (0, 1, float("nan")), (0, 2e6, 1)]
)
def test_grid_that_is_none(numbers):
    with pytest.raises(DataError, match="points"):
        predict.grid(SPEC, *map(float, numbers))


def test_grid_takes_one_feature():
    spec = ModelSpec.with_default_bounds([CYCLE, Feature("load", "1", 0.0, 1.0)], Target("T24", "degR", "none"), "rbf")
    with pytest.raises(DataError, match=r"2 features \(cycle, load\): give a file"):
        predict.grid(spec, 0.0, 1.0, 0.5)


def test_csv_holds_every_digit():
    rows = predict.predict(PRIOR, OWN, AT)
    lines = list(csv.DictReader(io.StringIO(predict.to_csv(rows))))
    assert list(lines[0]) == ["cycle", "mean", "sd_latent", "sd_observation", "lower_95", "upper_95"]
    for name in ("mean", "sd_latent", "sd_observation", "lower_95", "upper_95"):
        assert [float(line[name]) for line in lines] == getattr(rows, name).tolist()
    assert [float(line["cycle"]) for line in lines] == AT["cycle"].tolist()
