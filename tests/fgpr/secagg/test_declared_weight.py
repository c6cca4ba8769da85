"""What a client declares, and with which rules it may be drawn by."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import EncodingError, VerificationError
from fgpr.message import Signed
from fgpr.secagg.declared_weight import DeclaredWeight, check_draw
from fgpr.secagg.planning import AggregationRules
from support.federation import Federation

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.mark.parametrize("weight", [1, 2**32 - 1])
def test_from_one_row_on(weight: int) -> None:
    declared = DeclaredWeight(federation="engines", client="a", weight=weight)
    signed = Signed[DeclaredWeight].make(KEY, declared)
    assert Signed[DeclaredWeight].decode(signed.encode()) == signed
    signed.verify(KEY.public_key().public_bytes_raw())


@pytest.mark.parametrize("weight", [0, -1, 2**32, 1.5, "1", True, None])
def test_no_other_weight(weight: Any) -> None:
    with pytest.raises(EncodingError, match="weight"):
        DeclaredWeight.from_json({"federation": "engines", "client": "a", "weight": weight})


def test_a_signature_is_for_this_label_alone() -> None:
    signed = Signed[DeclaredWeight].make(KEY, DeclaredWeight(federation="engines", client="a", weight=3))
    other = signed.model_copy(update={"message": signed.message.model_copy(update={"weight": 4})})
    with pytest.raises(VerificationError):
        other.verify(KEY.public_key().public_bytes_raw())
    assert DeclaredWeight.label == "fgpr-v1/declared-weight"


def test_drawn_by_weight_is_averaged_uniformly_and_has_a_cap() -> None:
    check_draw("weights", "uniform", 40)
    check_draw("heads", "exact", None)
    check_draw("heads", "classes", 40)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({}, "would count rows twice.*set weighting to 'uniform'"),
        ({"invited_cap": 40}, "weighting 'exact' would count rows twice"),
        ({"invited_cap": 40, "weighting": "classes", "weight_unit": 5}, "weighting 'classes' would count rows twice"),
        ({"weighting": "uniform"}, "without invited_cap invites everybody"),
    ],
)
def test_other_rules_are_refused_with_the_remedy(rules: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        AggregationRules.from_json({"draw": "weights"} | rules)
    plan = Federation(5, AggregationRules(draw="weights", weighting="uniform", invited_cap=5)).plan().message
    given = {"weighting": "exact", "weight_unit": None, "invited_cap": None} | rules
    with pytest.raises(EncodingError, match=reason):
        type(plan).from_json(plan.to_json() | given)


def test_a_draw_is_of_one_of_two_kinds() -> None:
    with pytest.raises(EncodingError, match="draw"):
        AggregationRules.from_json({"draw": "hands"})
