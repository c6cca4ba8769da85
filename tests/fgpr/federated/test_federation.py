from typing import Any

import pytest

from fgpr.errors import EncodingError
from fgpr.federated.federation import Federation, Schedule
from fgpr.gp.training_settings import TrainingSettings
from fgpr.secagg import committee
from fgpr.secagg.planning import AggregationRules
from support.federation import SPEC
from support.samples import with_leaf

MODEL = SPEC.to_json()
MADE = Federation(name="engines", model=MODEL)


def with_model(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    return MADE.to_json() | {"model": with_leaf(MODEL, path, value)}


def test_one_encoding_and_one_decoding() -> None:
    full = Federation(
        name="engines",
        model=MODEL,
        training={**TrainingSettings().to_json(), "steps": 7},
        aggregation=AggregationRules(gamma=0.3, min_cohort=5),
        rounds=Schedule(every=1.5, max=20, min_clients=5),
    )
    for made in (MADE, full):
        assert Federation.decode(made.encode()) == made
        assert Federation.decode(made.encode()).encode() == made.encode()
    assert full.training_settings().steps == 7
    assert full.spec() == SPEC


def test_what_is_left_out_has_its_default() -> None:
    assert MADE.training_settings() == TrainingSettings.from_json({})
    assert MADE.aggregation == AggregationRules()
    assert (MADE.rounds.min_clients, MADE.rounds.max, MADE.rounds.every) == (4, 0, 0)


def test_settings_may_leave_the_bounds_to_the_ranges() -> None:
    written = {key: value for key, value in MODEL.items() if key != "bounds"}
    assert Federation.from_settings({"name": "engines", "model": written}) == MADE
    with pytest.raises(EncodingError, match=r"\[model\] table"):
        Federation.from_settings({"name": "engines"})


# Clipping ranges of 0 and below, NaN, and no levels were accepted elsewhere and broke later.
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"aggregation": {"fraction_bits": 0}}, "fraction_bits"),
        ({"aggregation": {"fraction_bits": -1}}, "fraction_bits"),
        ({"aggregation": {"fraction_bits": 52}}, "fraction bits and 16 weight bits"),
        ({"aggregation": {"weight_cap": 65_536}}, "weight cap 65536 is not in 1..65535"),
        ({"aggregation": {"weight_bits": 8}}, "weight cap 65535 is not in 1..255"),
        ({"aggregation": {"gamma": float("nan")}}, "not canonical JSON"),
        ({"aggregation": {"colour": "blue"}}, "colour"),
        ({"aggregation": {"draw": "weights", "invited_cap": 9}}, "set weighting to 'uniform'"),
        ({"aggregation": {"draw": "weights", "weighting": "uniform"}}, "set invited_cap"),
        ({"aggregation": {"groups": 3}}, "3 groups combined by .mean."),
        ({"aggregation": {"largest_step": -1}}, "largest_step"),
        ({"rounds": {"min_clients": 2}}, "min_clients"),
        ({"rounds": {"contribute_seconds": 0}}, "contribute_seconds"),
        ({"rounds": {"open_seconds": -1}}, "open_seconds"),
        ({"rounds": {"every": True}}, "every"),
        ({"rounds": {"max": -1}}, "max"),
        ({"training": {"steps": 0}}, "steps"),
        ({"training": {"colour": "blue"}}, "colour"),
        ({"name": "Engines"}, "name"),
        ({"colour": "blue"}, "colour"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_created(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        Federation.from_json(MADE.to_json() | change)


@pytest.mark.parametrize("limit", [MODEL["bounds"]["lower"][0], -5, float("nan"), float("inf"), 10**400, True, None])
def test_bounds_that_hold_nothing_are_refused_when_a_federation_is_created(limit: Any) -> None:
    with pytest.raises(EncodingError):
        Federation.from_json(with_model(("bounds", "upper", 0), limit))
    Federation.from_json(with_model(("bounds", "upper", 0), 0.5))


@pytest.mark.parametrize("path", [("kernel",), ("target", "scaling"), ("features", 0, "lower")])
def test_a_model_out_of_form_is_named(path: tuple[str | int, ...]) -> None:
    with pytest.raises(EncodingError):
        Federation.from_json(with_model(path, "blue"))


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"min_cohort": 2}, "aggregation.min_cohort is 2, with which no round could ever open: it takes 3 at least"),
        ({"invited_cap": 2}, "aggregation.invited_cap is 2, .* 1 cohort takes 3 clients at least"),
        ({"invited_cap": 9, "min_cohort": 10}, "aggregation.invited_cap is 9, .* 1 cohort takes 10 clients at least"),
        ({"invited_cap": 11, "groups": 4, "combine": "median"}, "invited_cap is 11, .* 4 groups take 12 clients"),
    ],
)
def test_what_no_number_of_clients_could_open_is_not_created(rules: dict[str, object], reason: str) -> None:
    written = {"name": "engines", "model": MODEL, "aggregation": rules}
    with pytest.raises(EncodingError, match=reason):
        Federation.from_settings(written)
    # What was created before is read all the same.
    assert Federation.from_json(written).aggregation.min_cohort == rules.get("min_cohort")


def test_what_few_servants_could_open_is_created() -> None:
    # Three who may serve, of a hundred: K is 90, and nobody need be missed.
    sizes = committee.size(seats=3, servants=3, invited=100, admitted=100, gamma=0.9, delta=0.15)
    assert (sizes.threshold, sizes.min_cohort) == (3, 92)
    for rules in ({"gamma": 0.9}, {"invited_cap": 3}, {"invited_cap": 12, "groups": 4, "combine": "median"}):
        assert Federation.from_settings({"name": "engines", "model": MODEL, "aggregation": rules}).name == "engines"
