"""Plans of a federation that draws by declared weights: what a client refuses of them."""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import PlanRefused
from fgpr.message import Signed
from fgpr.secagg import committee
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.roster import RosterEntry
from support.plan_case import Case, case

RULES = AggregationRules(draw="weights", weighting="uniform", invited_cap=8, weight_cap=120)
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)

Break = Callable[[Case], None]


def drawn() -> Case:
    """An honest plan for 12 clients that declared 10, 20, ..., 120, of which 8 are drawn; the cap is 120."""
    made = case(12, RULES)
    # Whoever checks need not be invited: a seat will do.
    assert len(made.plan.invited) == 8
    return made


def line(made: Case, client: str, **changes: Any) -> tuple[RosterEntry, ...]:
    """The roster's lines with one changed."""
    return tuple(
        entry.model_copy(update=changes) if entry.client == client else entry for entry in made.roster.message.clients
    )


def with_weight(client: str, key: Ed25519PrivateKey | None = None, **changes: Any) -> Break:
    """Another declaration in one line, under the client's key or another."""

    def apply(made: Case) -> None:
        entry = next(entry for entry in made.roster.message.clients if entry.client == client)
        assert entry.declared is not None
        declared = entry.declared.message.model_copy(update=changes)
        signer = key or made.federation.clients[client].identity_key
        made.change_roster(clients=line(made, client, declared=Signed[DeclaredWeight].make(signer, declared)))

    return apply


def weight_of_another(made: Case) -> None:
    """The heaviest client's own declaration beside the lightest."""
    heavy = made.roster.message.clients[-1]
    made.change_roster(clients=line(made, "client-00", declared=heavy.declared))


def no_weight(made: Case) -> None:
    made.change_roster(clients=line(made, "client-03", declared=None))


def drawn_by_heads(made: Case) -> None:
    roster = made.roster.message
    heads = committee.draw(roster.active(), 8, roster.nonce, made.plan.theta_version, committee.INVITED)
    assert heads != made.plan.invited
    made.change(invited=heads)


def another_invited(made: Case) -> None:
    left_out = next(name for name in made.federation.names if name not in made.plan.invited)
    made.change(invited=tuple(sorted((*made.plan.invited[1:], left_out))))


def heads_after_weights(made: Case) -> None:
    """The same roster's other draw, honestly made: two draws from one nonce are one too many."""
    made.change(round=2)
    made.remember_round(contributed=False)
    roster = made.roster.message
    heads = committee.draw(roster.active(), 8, roster.nonce, made.plan.theta_version, committee.INVITED)
    made.change(draw="heads", declared_cap=None, invited=heads, min_cohort=5)


def low_cohort(made: Case) -> None:
    """Enough for K by heads, not for K by weight."""
    roster = made.roster.message
    heads = committee.max_corrupt(8, len(roster.active()), made.plan.gamma)
    assert heads + 2 < made.plan.min_cohort
    made.change(min_cohort=heads + 2)


BREAKS: list[tuple[int, str, Break]] = [
    (7, "does not hold", with_weight("client-00", STRANGER, weight=120)),
    (7, "does not hold", with_weight("client-11", STRANGER, weight=1)),
    (7, "the weight beside client-00 is client-11's", weight_of_another),
    (7, "is client-03's of bridges", with_weight("client-03", federation="bridges")),
    (7, "client-03 declared no weight", no_weight),
    (7, "client-03 declared weight 121, above the cap 120", with_weight("client-03", weight=121)),
    (7, "client-11 declared weight 120, above the cap 119", lambda made: made.change(declared_cap=119)),
    (8, "leaves fewer than 2 honest", low_cohort),
    (9, "weight cap 65536 is above 65535", lambda made: made.change(declared_cap=65_536)),
    (10, "the invited clients are not the drawn ones", drawn_by_heads),
    (10, "the invited clients are not the drawn ones", another_invited),
    (10, "the kind of draw are not those of round 1", heads_after_weights),
]


def test_an_honest_plan_passes_and_counts_k_by_weight() -> None:
    made = drawn()
    checked = made.check()
    assert (checked.committee.corrupt_invited, checked.plan.min_cohort) == (5, 7)
    assert made.federation.plan().message.draw == "weights"


@pytest.mark.parametrize(("check", "reason", "apply"), BREAKS, ids=[f"{n}-{r}" for n, r, _ in BREAKS])
def test_each_lie_is_refused_by_its_check(check: int, reason: str, apply: Break) -> None:
    made = drawn()
    apply(made)
    with pytest.raises(PlanRefused, match=reason) as refused:
        made.check()
    assert refused.value.check == check


def test_the_same_roster_draws_anew_for_each_theta_in_the_same_way() -> None:
    made = drawn()
    made.change(round=2)
    made.remember_round(contributed=False)
    made.check()


@pytest.mark.parametrize(
    "fields",
    [
        {"draw": "heads", "declared_cap": None},
        {"invited_cap": 7},
        {"invited_cap": 9},
        {"committee_cap": 139},
        {"groups": 3},
    ],
)
def test_another_roster_has_the_same_caps_groups_and_kind_of_draw(fields: dict[str, Any]) -> None:
    # Its nonce was seen before the plan was made: other caps may be those of which the draw suits.
    made = drawn()
    made.change(round=2)
    made.remember_round(contributed=False, roster_version=7, **fields)
    made.change_roster(version=8)
    with pytest.raises(PlanRefused, match="are not those of round 1") as refused:
        made.check()
    assert refused.value.check == 10


def test_another_roster_with_the_same_caps_passes() -> None:
    made = drawn()
    made.change(round=2)
    made.remember_round(contributed=False, roster_version=7)
    made.change_roster(version=8)
    made.check()


@pytest.mark.parametrize(
    "fields", [{"draw": "heads", "declared_cap": None}, {"roster_version": 7, "roster_digest": bytes(32)}]
)
def test_only_a_roster_by_which_was_drawn_before_is_not_verified_again(fields: dict[str, Any]) -> None:
    made = drawn()
    with_weight("client-00", STRANGER, weight=120)(made)
    made.change(round=2)
    made.remember_round(contributed=False, **fields)
    with pytest.raises(PlanRefused, match="does not hold"):
        made.check()
    # And where it was, each plan's cap is still looked at.
    made = drawn()
    made.change(round=2)
    made.remember_round(contributed=False)
    made.change(declared_cap=119)
    with pytest.raises(PlanRefused, match="above the cap 119"):
        made.check()


def test_where_heads_are_drawn_nobody_looks_for_weights() -> None:
    made = case(5)
    assert all(entry.declared is None for entry in made.roster.message.clients)
    made.check()
