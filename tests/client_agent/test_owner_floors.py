"""Of what agent.toml and the command line say, the stricter holds."""

import pytest

from client_agent import owner_floors
from client_agent.agent_toml import FloorSection
from fgpr.federated.accounting import Budget
from fgpr.secagg.history import Floors

A, B, C = "a" * 43, "b" * 43, "c" * 43


@pytest.mark.parametrize(
    ("name", "lax", "strict"),
    [
        ("gamma", 0.1, 0.3),
        ("min_cohort", 3, 7),
        ("committee", 3, 9),
        ("weight_cap", 1000, 10),
        ("suite", "x25519", "mlkem768-x25519"),
        ("carries", 2, 0),
        ("groups", 8, 1),
        ("noise", 0.0, 2.0),
        ("epsilon", 8.0, 1.0),
        ("delta", 1e-5, 1e-7),
    ],
)
def test_each_floor(name, lax, strict):
    one, other = FloorSection(**{name: lax}), FloorSection(**{name: strict})
    for first, second in ((one, other), (other, one), (other, FloorSection()), (FloorSection(), other)):
        assert getattr(owner_floors.stricter(first, second), name) == strict
    # What one says alone holds, even where it is laxer than the default: the owner said so.
    assert getattr(owner_floors.stricter(one, FloorSection()), name) == lax


def test_every_floor_is_joined():
    tested = {
        "gamma",
        "min_cohort",
        "committee",
        "weight_cap",
        "suite",
        "carries",
        "groups",
        "noise",
        "epsilon",
        "delta",
    }
    assert set(FloorSection.model_fields) == tested | {"required_peers", "accepted_peers"}


def test_peers():
    one = FloorSection(required_peers=frozenset({A}), accepted_peers=frozenset({A, B}))
    other = FloorSection(required_peers=frozenset({B}), accepted_peers=frozenset({B, C}))
    both = owner_floors.stricter(one, other)
    assert (both.required_peers, both.accepted_peers) == ({A, B}, {B})
    assert owner_floors.stricter(one, FloorSection()).accepted_peers == {A, B}


def test_what_nobody_says_is_the_default():
    assert owner_floors.floors_of(FloorSection()) == Floors()
    assert owner_floors.budget_of(FloorSection()) == Budget()
    assert owner_floors.floors_of(FloorSection(carries=0, accepted_peers=frozenset())) == Floors(
        carries=0, accepted_peers=frozenset()
    )
