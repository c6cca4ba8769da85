"""Fields of a line: each of another kind is named, with what was found and what was expected."""

import json
from typing import Any

import pytest

from fgpr.experiments.fields import fault_of, fault_of_values

POSTERIOR = {"title": "one", "x": [0.0, 1.0], "mean": [0.0, 1.0], "sd": [0.1, 0.2], "truth": [0, 1], "rows": [[0], [0]]}
VALUES = {"rmse": 0.25, "sd": 0, "kernel": "rbf", "curve": [1.0, 0], "posteriors": [POSTERIOR], "shares": {"a": None}}
WHOLE: dict[str, Any] = {
    "experiment": "table1",
    "item": "CURRIN",
    "variant": "",
    "system": "fgpr",
    "seed": 100,
    "values": VALUES,
    "settings": {"rounds": None},
    "seconds": 1,
    "versions": {"numpy": "2"},
}


def test_what_the_report_can_read_has_no_fault() -> None:
    assert fault_of(WHOLE) is None
    assert fault_of(WHOLE | {"error": None, "written": "later"}) is None
    assert fault_of(WHOLE | {"values": {}, "error": "NumericalError: no"}) is None
    without = {key: value for key, value in POSTERIOR.items() if key != "sd"}
    assert fault_of_values({"posteriors": [without]}) is None


@pytest.mark.parametrize(
    ("field", "found", "fault"),
    [
        ("experiment", ["table1"], 'experiment: found ["table1"], expected text'),
        ("item", ["CURRIN"], 'item: found ["CURRIN"], expected text'),
        ("variant", None, "variant: found null, expected text"),
        ("system", "\ud800", 'system: found "\\ud800", expected text'),
        ("seed", 100.7, "seed: found 100.7, expected a whole number"),
        ("seed", 100.0, "seed: found 100.0, expected a whole number"),
        ("seed", "100", 'seed: found "100", expected a whole number'),
        ("seed", True, "seed: found true, expected a whole number"),
        ("settings", None, "settings: found null, expected an object"),
        ("seconds", None, "seconds: found null, expected a finite number of at least 0"),
        ("seconds", -1.0, "seconds: found -1.0, expected a finite number of at least 0"),
        ("versions", None, "versions: found null, expected an object of texts"),
        ("versions", {"numpy": 2}, 'versions: found {"numpy": 2}, expected an object of texts'),
        ("values", None, "values: found null, expected an object"),
        ("values", [1], "values: found [1], expected an object"),
        ("values", {}, "values: found {}, expected what the run found, or else an error"),
        ("error", "", 'error: found "", expected text that is not empty'),
        ("error", 3, "error: found 3, expected text that is not empty"),
    ],
)
def test_a_field_of_another_kind_is_named(field: str, found: object, fault: str) -> None:
    assert fault_of(WHOLE | {field: found}) == fault


@pytest.mark.parametrize("field", [field for field in WHOLE if field != "error"])
def test_a_field_that_is_not_there_is_named(field: str) -> None:
    fault = fault_of({name: value for name, value in WHOLE.items() if name != field})
    assert fault is not None
    assert fault.startswith(f"{field}: not there, expected ")


@pytest.mark.parametrize("whole", [[], 3, None, "line"])
def test_what_is_no_object_is_refused(whole: object) -> None:
    assert fault_of(whole) == f"found {json.dumps(whole)}, expected an object"


@pytest.mark.parametrize(
    ("name", "found", "fault"),
    [
        ("rmse", "0.2", 'found "0.2", expected a finite number above 0'),
        ("rmse", None, "found null, expected a finite number above 0"),
        ("rmse", True, "found true, expected a finite number above 0"),
        ("rmse", float("nan"), "found NaN, expected a finite number above 0"),
        ("rmse", float("inf"), "found Infinity, expected a finite number above 0"),
        ("rmse", 0, "found 0, expected a finite number above 0"),
        ("rmse", 10**400, f"found {'1' + 59 * '0'}..., expected a finite number above 0"),
        ("rmse of rbf", float("nan"), "found NaN, expected a finite number above 0"),
        ("rmse by least squares", [1], "found [1], expected a finite number above 0"),
        ("sd", -0.1, "found -0.1, expected a finite number of at least 0"),
        ("noise sd", "0.1", 'found "0.1", expected a finite number of at least 0'),
        ("kernel", ["rbf"], 'found ["rbf"], expected text'),
        ("noise", [], "found [], expected a list of finite numbers of at least 0"),
        ("theta", 1.0, "found 1.0, expected a list of finite numbers of at least 0"),
        ("gradient", [1.0, None], "found [1.0, null], expected a list of finite numbers of at least 0"),
        ("curve", [1.0, float("nan")], "found [1.0, NaN], expected a list of finite numbers of at least 0"),
        ("curve", [1.0, -1.0], "found [1.0, -1.0], expected a list of finite numbers of at least 0"),
        ("posteriors", [], "found [], expected a list of at least one"),
        ("posteriors", None, "found null, expected a list of at least one"),
    ],
)
def test_a_value_that_no_table_could_hold_is_named(name: str, found: object, fault: str) -> None:
    values = VALUES | {name: found}
    assert fault_of(WHOLE | {"values": values}) == fault_of_values(values) == f"values.{name}: {fault}"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"title": 1}, ".title: found 1, expected text"),
        ({"x": []}, ".x: found [], expected a list of finite numbers"),
        ({"mean": [0.0]}, ".mean: found 1 numbers, expected 2, one for each of x"),
        ({"truth": [0, 1, 2]}, ".truth: found 3 numbers, expected 2, one for each of x"),
        ({"sd": [0.1]}, ".sd: found 1 numbers, expected 2, one for each of x"),
        ({"sd": [0.1, -1]}, ".sd: found [0.1, -1], expected a list of finite numbers of at least 0"),
        ({"rows": [[0]]}, ".rows: found [[0]], expected two lists of one length, of finite numbers"),
        ({"rows": [[0], [0, 1]]}, ".rows: found [[0], [0, 1]], expected two lists of one length, of finite numbers"),
    ],
)
def test_a_posterior_that_cannot_be_drawn_is_named(changed: dict[str, object], fault: str) -> None:
    assert fault_of_values({"posteriors": [POSTERIOR, POSTERIOR | changed]}) == f"values.posteriors[1]{fault}"


def test_a_posterior_that_is_none_is_named() -> None:
    assert fault_of_values({"posteriors": [1]}) == "values.posteriors[0]: found 1, expected an object"
    assert fault_of_values({"posteriors": [{}]}) == "values.posteriors[0].title: not there, expected text"
