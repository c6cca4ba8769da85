import copy
from typing import Any

import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.hyperparameters import Bounds, Hyperparameters
from fgpr.gp.hyperprior import LogNormal
from fgpr.gp.model import Feature, ModelSpec, Prior, Target

CYCLE = Feature("cycle", "1", 0.0, 400.0)
SPEED = Feature("speed", "rpm", 8000.0, 9000.0)
TARGET = Target("T24", "degR", "standardise")
SPEC = ModelSpec.with_default_bounds([CYCLE, SPEED], TARGET, "rbf")


def test_default_bounds_and_start_follow_the_ranges() -> None:
    names = ("signal sd", "noise sd", "length-scale of cycle", "length-scale of speed")
    assert SPEC.theta_names == SPEC.bounds.names == names
    np.testing.assert_allclose(np.exp(SPEC.bounds.lower), [1e-2, 1e-2, 0.4, 1.0])
    np.testing.assert_allclose(np.exp(SPEC.bounds.upper), [1e2, 10.0, 4e4, 1e5])
    np.testing.assert_allclose(np.exp(SPEC.initial_theta), [1.0, 0.5, 100.0, 250.0])
    assert SPEC.correlation.name == "rbf"


def test_the_start_is_inside_bounds_of_ones_own() -> None:
    bounds = Bounds.from_natural(SPEC.theta_names, [2.0, 0.01, 1.0, 1.0], [3.0, 0.1, 5.0, 1e3])
    start = ModelSpec((CYCLE, SPEED), TARGET, "rbf", bounds).initial_theta
    np.testing.assert_allclose(np.exp(start), [2.0, 0.1, 5.0, 250.0])


def test_json_both_ways() -> None:
    raw = SPEC.encode()
    assert ModelSpec.decode(raw) == SPEC
    assert ModelSpec.decode(raw).encode() == raw
    assert ModelSpec.from_json(SPEC.to_json()) == SPEC


def test_settings_of_a_person_may_leave_the_bounds_out() -> None:
    settings = SPEC.to_json()
    assert ModelSpec.from_settings(settings) == SPEC
    del settings["bounds"]
    assert ModelSpec.from_settings(settings) == SPEC
    with pytest.raises(EncodingError, match="bounds"):
        ModelSpec.from_json(settings)
    with pytest.raises(EncodingError):
        ModelSpec.from_settings([])
    with pytest.raises(EncodingError, match="kernel"):
        ModelSpec.from_settings({"features": settings["features"], "target": settings["target"]})


def change(path: str, value: object) -> dict[str, Any]:
    spec: Any = copy.deepcopy(SPEC.to_json())
    *parents, last = path.split(".")
    place = spec
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[int(last) if last.isdigit() else last] = value
    changed: dict[str, Any] = spec
    return changed


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("more", 1, "more"),
        ("features.0.more", 1, "features.0.more"),
        ("target.more", 1, "target.more"),
        ("bounds.more", 1, "bounds.more"),
        ("features", [], "0 features"),
        ("features.0.lower", 400, "not below"),
        ("features.0.lower", 401, "not below"),
        ("features.0.lower", "0", "features.0.lower"),
        ("features.0.upper", None, "features.0.upper"),
        ("features.0.name", "", "printable"),
        ("features.0.name", "a\n", "printable"),
        ("features.0.name", "x" * 65, "1 to 64"),
        ("features.0.name", "speed", "'speed' is repeated"),
        ("target.name", "speed", "'speed' is repeated"),
        ("features.0.name", "age", "bounds are named"),
        ("target.scaling", "log", "scaling"),
        ("kernel", "cubic", "no kernel is named 'cubic'"),
        ("bounds.lower.0", 9, "not below"),
        ("bounds.lower", [0, 0, 0], "3 lower"),
        ("bounds.lower.0", True, "bounds.lower.0"),
    ],
)
def test_a_spec_that_makes_no_model_is_refused(path: str, value: object, says: str) -> None:
    with pytest.raises(EncodingError, match=says):
        ModelSpec.from_json(change(path, value))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_ranges_are_finite(bad: float) -> None:
    with pytest.raises(EncodingError, match="not finite"):
        Feature("a", "1", bad, 1.0)
    with pytest.raises(EncodingError, match="not finite"):
        Feature("a", "1", 0.0, bad)
    with pytest.raises(EncodingError, match="not finite"):
        Feature("a", "1", -1e308, 1e308)


def test_case_f3_columns_are_matched_by_name_whatever_their_order() -> None:
    columns: dict[str, list[float]] = {"speed": [8100.0, 8200.0], "T24": [640.0, 641.0], "cycle": [1, 2]}
    expected = [[1.0, 8100.0], [2.0, 8200.0]]
    assert SPEC.arrange(columns).tolist() == expected
    assert SPEC.arrange(dict(reversed(columns.items()))).tolist() == expected


def test_case_f3_a_device_without_a_feature_is_refused() -> None:
    with pytest.raises(DataError, match="no column for feature speed; there are cycle"):
        SPEC.arrange({"cycle": [1.0]})


@pytest.mark.parametrize(
    ("cycle", "says"),
    [
        ([1.0, np.nan], "row 2: cycle is nan"),
        ([np.inf, 1.0], "row 1: cycle is inf"),
        ([1.0, 401.0], r"row 2: cycle is 401.0 1, not a finite number within 0.0 to 400.0"),
        ([-0.5, 1.0], "row 1: cycle is -0.5"),
        ([1.0], "differ in length"),
        ([[1.0, 2.0]], "shape"),
        (["a", "b"], "does not hold numbers"),
    ],
)
def test_columns_that_do_not_fit_are_refused(cycle: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        SPEC.arrange({"cycle": cycle, "speed": [8100.0, 8200.0]})


def test_the_limits_of_a_range_belong_to_it_and_no_rows_are_rows() -> None:
    assert SPEC.arrange({"cycle": [0, 400], "speed": [8000, 9000]}).shape == (2, 2)
    assert SPEC.arrange({"cycle": [], "speed": []}).shape == (0, 2)


def test_a_prior_holds_a_theta_inside_the_bounds() -> None:
    theta = np.log([1.0, 0.5, 80.0, 300.0])
    prior = Prior(SPEC, theta, 3)
    theta[0] = 99.0
    np.testing.assert_allclose(prior.hyperparameters.theta, np.log([1.0, 0.5, 80.0, 300.0]))
    assert isinstance(prior.hyperparameters, Hyperparameters)
    with pytest.raises(ValueError, match="read-only"):
        prior.theta[0] = 0.0


def test_case_c6_a_prior_refuses_what_is_not_finite_or_outside() -> None:
    for bad in (np.nan, np.inf, 1e308):
        with pytest.raises((NumericalError, EncodingError), match="noise sd"):
            Prior(SPEC, np.array([0.0, bad, 5.0, 5.0]), 0)
    with pytest.raises(EncodingError, match="4 hyper-parameters"):
        Prior(SPEC, np.zeros(3), 0)
    with pytest.raises(EncodingError, match="version is -1"):
        Prior(SPEC, SPEC.initial_theta, -1)


X = Feature("x", "cycle", 0.0, 6.0)
Y = Target("y", "1", "standardise")


def test_the_names_and_bytes_of_the_first_kernels_are_what_they_were() -> None:
    for name in ("rbf", "matern-3/2"):
        spec = ModelSpec.with_default_bounds([X], Y, name)
        assert spec.theta_names == ("signal sd", "noise sd", "length-scale of x")
        assert spec.initial_theta.tolist() == np.log([1.0, 0.5, 1.5]).tolist()
        assert spec.encode() == (
            b'{"bounds":{"lower":[-4.605170185988091,-4.605170185988091,-5.115995809754082],'
            b'"names":["signal sd","noise sd","length-scale of x"],'
            b'"upper":[4.605170185988092,2.302585092994046,6.396929655216146]},'
            b'"features":[{"lower":0,"name":"x","unit":"cycle","upper":6}],"kernel":"' + name.encode() + b'",'
            b'"target":{"name":"y","scaling":"standardise","unit":"1"}}'
        )


def test_a_spec_takes_any_spelling_from_a_person_and_one_from_the_wire() -> None:
    settings = ModelSpec.with_default_bounds([X], Y, "rbf").to_json()
    del settings["bounds"]
    settings["kernel"] = "rbf+0.5*periodic( period=2 )"
    spec = ModelSpec.from_settings(settings)
    assert spec.kernel == "rbf + 0.5 * periodic(period=2)"
    assert spec.theta_names[3:] == ("signal sd of periodic", "length-scale of x in periodic", "period of x in periodic")
    np.testing.assert_allclose(np.exp(spec.initial_theta), [1.0, 0.5, 1.5, 0.5, 1.0, 2.0])
    assert ModelSpec.decode(spec.encode()) == spec
    assert ModelSpec.from_settings(spec.to_json() | {"kernel": settings["kernel"]}) == spec
    with pytest.raises(EncodingError, match="not in its canonical spelling, 'rbf"):
        ModelSpec.from_json(spec.to_json() | {"kernel": settings["kernel"]})


def test_a_start_value_outside_its_bounds_is_refused() -> None:
    with pytest.raises(EncodingError, match=r"period of x starts at 13, outside its bounds 0.06 to 12"):
        ModelSpec.with_default_bounds([X], Y, "periodic(period=13)")


def test_a_kernel_of_too_many_hyper_parameters_is_refused() -> None:
    features = [Feature(f"x{n}", "1", 0.0, 1.0) for n in range(150)]
    ModelSpec.with_default_bounds(features[:149], Y, "periodic")
    with pytest.raises(EncodingError, match="302 hyper-parameters, at most 300"):
        ModelSpec.with_default_bounds(features, Y, "periodic")


def test_priors_belong_to_the_model() -> None:
    prior = LogNormal("length-scale of x", 1.0, 1.0)
    spec = ModelSpec.with_default_bounds([X], Y, "rbf", [prior])
    assert spec.to_json()["priors"] == [{"name": "length-scale of x", "median": 1.0, "sigma": 1.0}]
    assert ModelSpec.decode(spec.encode()) == spec
    settings = spec.to_json()
    del settings["bounds"]
    assert ModelSpec.from_settings(settings) == spec
    with pytest.raises(EncodingError, match="no such hyper-parameter"):
        ModelSpec.with_default_bounds([X], Y, "rbf", [LogNormal("length-scale of z", 1.0, 1.0)])


def test_case_f10_a_prior_left_in_another_unit_is_doubted() -> None:
    prior = LogNormal("length-scale of x", 1.0, 1.0)
    assert ModelSpec.with_default_bounds([X], Y, "rbf", [prior]).doubtful_priors == ()
    in_hundredths = Feature("x", "cycle/100", 0.0, 600.0)
    doubts = ModelSpec.with_default_bounds([in_hundredths], Y, "rbf", [prior]).doubtful_priors
    assert doubts == (
        "prior of length-scale of x: its median 1 is 5.0 sigmas from the start value 150; is it in the feature's unit?",
    )
    right = LogNormal("length-scale of x", 100.0, 1.0)
    assert ModelSpec.with_default_bounds([in_hundredths], Y, "rbf", [right]).doubtful_priors == ()


def test_a_prior_of_a_sum_says_its_values_by_name() -> None:
    spec = ModelSpec.with_default_bounds([X], Y, "rbf + constant")
    prior = Prior(spec, np.log([1.0, 0.5, 1.5, 3.0]), 0)
    assert prior.natural == pytest.approx(
        {"signal sd of rbf": 1.0, "noise sd": 0.5, "length-scale of x in rbf": 1.5, "signal sd of constant": 3.0}
    )
    with pytest.raises(EncodingError, match="take them by name"):
        _ = prior.hyperparameters
