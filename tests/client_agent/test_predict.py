"""Predictions in the target's own units, and the prior that they rest on."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from client_agent import local_data, predict
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


def student(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale at `AT` of a flat mean and an unknown scale, in plain matrices and the rows' own unit."""
    x, at, one = OWN["cycle"], AT["cycle"], np.ones(5)

    def k(a, b):
        return SIGNAL**2 * np.exp(-0.5 * (a[:, None] - b) ** 2 / LENGTH**2)

    inverse = np.linalg.inv(k(x, x) + NOISE**2 * np.eye(5))
    mean = one @ inverse @ y / (one @ inverse @ one)
    square = (y - mean) @ inverse @ (y - mean) / 4
    left = 1 - k(at, x) @ inverse @ one
    share = SIGNAL**2 - np.einsum("ij,jk,ik->i", k(at, x), inverse, k(at, x)) + left**2 / (one @ inverse @ one)
    return mean + k(at, x) @ inverse @ (y - mean), np.sqrt(square * (share + NOISE**2))


def test_own_scale_in_original_units():
    device = predict.condition_on(PRIOR, local_data.arrange(SPEC, OWN), own_scale=True)
    rows = device.predict(AT)
    mean, scale = student(OWN["T24"])
    assert rows.mean == pytest.approx(mean, rel=1e-10)
    assert rows.sd_observation == pytest.approx(scale, rel=1e-8)
    # 2.776 from any table of Student's t at 0.975 with 4 degrees of freedom.
    assert rows.upper_95 - rows.mean == pytest.approx(2.7764451 * scale, rel=1e-7)
    drawn = device.draw(AT, 20_000, np.random.default_rng(1))
    assert np.median(drawn, axis=0) == pytest.approx(mean, abs=0.05)


def test_own_scale_where_it_cannot_be_told_is_that_of_the_rows():
    for own in ({"cycle": [1.0], "T24": [642.0]}, {"cycle": [1.0, 2.0], "T24": [642.0, 642.0]}):
        device = predict.condition_on(PRIOR, local_data.arrange(SPEC, own), own_scale=True)
        assert device.own_scale is None
        assert device.predict(AT).mean == pytest.approx([642.0] * 3)


def test_what_rows_tell_falls_as_one_row_says():
    device = predict.condition_on(PRIOR, local_data.arrange(SPEC, {"cycle": [50.0], "T24": [642.0]}))
    told = device.told_by_rows({"cycle": [50.0, 50.0 + LENGTH]})
    # One row with noise: c(r)^2 / (1 + noise^2 / signal^2), with c = exp(-1/2) at one length-scale.
    assert told == pytest.approx(np.array([1.0, np.exp(-1.0)]) / (1 + NOISE**2 / SIGNAL**2))


def test_cycles_ahead():
    rows = local_data.arrange(SPEC, {"cycle": [3.0, 90.0, 7.0], "T24": [1.0, 2.0, 3.0]})
    assert predict.ahead(SPEC, rows, 3)["cycle"].tolist() == [91.0, 92.0, 93.0]
    # The model ends at 100.
    assert predict.ahead(SPEC, rows, 50)["cycle"].tolist() == [float(cycle) for cycle in range(91, 101)]
    full = local_data.arrange(SPEC, {"cycle": [99.5], "T24": [1.0]})
    with pytest.raises(DataError, match=r"the last row is 99.5, and the federation's model ends at 100 1"):
        predict.ahead(SPEC, full, 1)
