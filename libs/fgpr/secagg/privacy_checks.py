"""Checks 15 and 16 of a plan: its differential privacy (the list is in `fgpr.secagg.checked_plan`).

The noise that a client adds is fixed by the plan. A plan that promises more carriers than there are honest clients for
sure, or states less noise than before, would make the client's update less private than its owner was told.
"""

import numpy as np

from fgpr.errors import PlanRefused
from fgpr.secagg.committee import Committee
from fgpr.secagg.history import Floors, History
from fgpr.secagg.messages import Plan


def check_terms(plan: Plan, numbers: Committee, prior: np.ndarray) -> None:
    """Check 15.

    Args:
        plan: the plan.
        numbers: its committee's and cohort's numbers, recomputed.
        prior: numbers of the prior that it names, shape [L].

    Raises:
        PlanRefused: check 15.
    """
    terms = plan.differential_privacy
    if terms is None:
        return
    _require(15, plan.weighting == "uniform", f"weighting {plan.weighting!r} tells weights without noise")
    _require(
        15,
        terms.carriers == numbers.carriers,
        f"its noise is shared among {terms.carriers} clients; min_cohort {numbers.min_cohort} less K "
        f"{numbers.corrupt_invited} leaves {numbers.carriers} honest ones that are sure to add theirs",
    )
    _require(15, terms.origin == tuple(prior.tolist()), "differences are not counted from the prior")


def check_noise(plan: Plan, floors: Floors) -> None:
    """Check 16, as far as the client's floor goes.

    Raises:
        PlanRefused: check 16.
    """
    terms = plan.differential_privacy
    asked = floors.noise > 0
    _require(
        16, terms is not None or not asked, f"it adds no noise, this client asks for a multiplier of {floors.noise}"
    )
    if terms is not None:
        _require(
            16,
            terms.multiplier >= floors.noise,
            f"noise multiplier {terms.multiplier:.6g} is below this client's {floors.noise}",
        )


def check_strength(plan: Plan, history: History, floors: Floors) -> None:
    """Check 16.

    Raises:
        PlanRefused: check 16.
    """
    check_noise(plan, floors)
    terms = plan.differential_privacy
    for past in history.rounds:
        before = past.plan.differential_privacy
        same = terms == before if terms is None or before is None else terms.same_mechanism(before)
        _require(16, same, f"clip, noise and delta are not those of round {past.plan.round}")


def _require(check: int, holds: bool, reason: str) -> None:
    if not holds:
        raise PlanRefused(check, reason)
