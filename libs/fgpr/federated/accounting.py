"""What rounds under differential privacy cost: rho of one round, epsilon at delta of all, and a client's budget.

The unit is one client's update of a round. Neighbours are two runs that differ in one client's updates: in one they
count, in the other each is zero ("absent": the sums differ by at most C); where instead an update is *replaced* by
another one the sums differ by up to 2 C and rho is four times as large. All of this project counts absence.

A sum of n shares N_Z(0, s^2) in each of d numbers is rho-zero-concentrated differentially private (Kairouz, Liu and
Steinke 2021, "The Distributed Discrete Gaussian Mechanism", arXiv:2102.06387, Proposition 14 and equation 17) with

    rho = min(D^2 / (2 n s^2) + tau d,  (D / (sqrt(n) s) + tau sqrt(d))^2 / 2),
    tau = 10 sum_{k=1}^{n-1} exp(-2 pi^2 s^2 k / (k + 1)),

D the L2 sensitivity and s >= 1/2. The first term's additive tau d is counted as tau d for each order alpha >= 1, which
can only make it larger. Rhos of rounds add up, whatever each round was chosen by. dp-accounting turns their sum into
epsilon at delta. Nothing is claimed for clients that were drawn: the aggregator knows who takes part.
"""

import math
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from fgpr.errors import EncodingError, PlanRefused
from fgpr.message import Message
from fgpr.secagg.privacy import Delta, PrivacyTerms

_PARTS = 10**6

REPLACED = 4
"""How many times more rho a replaced update costs than an absent one: sensitivity 2 C instead of C, squared."""


def tau(share: float, carriers: int) -> float:
    """How far, in log probability, a sum of discrete Gaussians can be from one discrete Gaussian.

    10 sum_{k=1}^{n-1} exp(-2 pi^2 s^2 k / (k + 1)), Theorem 1 of Kairouz, Liu and Steinke 2021.

    Args:
        share: s^2, the variance of each.
        carriers: n, how many are summed.
    """
    return 10.0 * math.fsum(math.exp(-2.0 * math.pi**2 * share * k / (k + 1)) for k in range(1, carriers))


def rho(terms: PrivacyTerms) -> float:
    """What one round costs a client whose update counts in it, against its absence (equation 17)."""
    inflation, numbers = tau(float(terms.share), terms.carriers), len(terms.origin)
    scale = terms.clip / terms.sigma
    return min(scale**2 / 2 + inflation * numbers, (scale + inflation * math.sqrt(numbers)) ** 2 / 2)


@lru_cache(maxsize=4096)
def epsilon(rho: float, delta: float) -> float:
    """The epsilon at delta of a rho-zero-concentrated mechanism, by Renyi orders, as dp-accounting finds it.

    Rounded up to millionths: logarithms of two machines differ in their last digits, and what is published should not.

    Raises:
        EncodingError: rho negative or not finite, or delta not between 0 and 1.
    """
    if not (math.isfinite(rho) and rho >= 0 and 0 < delta < 1):
        raise EncodingError(f"rho {rho} at delta {delta}: rho is finite and not negative, delta between 0 and 1")
    # Half a second to import: only where privacy is accounted.
    from dp_accounting.dp_event import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    accountant.compose(ZCDpEvent(rho))
    return math.ceil(float(accountant.get_epsilon(delta)) * _PARTS) / _PARTS


class Budget(Message):
    """Most that a client's owner lets all rounds together cost.

    Attributes:
        epsilon: most; None for no limit.
        delta: at which it is counted, whatever the federation's own.
    """

    epsilon: Annotated[float, Field(gt=0)] | None = None
    delta: Delta = 1e-5


def check_budget(terms: PrivacyTerms | None, spent: float, budget: Budget) -> None:
    """Check 17 of a plan (`fgpr.secagg.checked_plan`), before anything is trained for it.

    Args:
        terms: of the plan.
        spent: rho of all rounds for which a contribution was written.
        budget: the owner's.

    Raises:
        PlanRefused: check 17, with what was spent, what the round costs, and the budget.
    """
    if budget.epsilon is None:
        return
    if terms is None:
        raise PlanRefused(
            17,
            f"it adds no noise, so that its cost has no limit, and the budget is epsilon {budget.epsilon:g}; start the "
            "agent without a budget if that is meant",
        )
    before, then = epsilon(spent, budget.delta), epsilon(spent + rho(terms), budget.delta)
    if then > budget.epsilon:
        raise PlanRefused(
            17,
            f"epsilon {before:.4g} of {budget.epsilon:g} at delta {budget.delta:g} is spent and would be {then:.4g} "
            f"after this round, {then - before:.4g} more; nothing was trained. Start the agent with a larger "
            "--epsilon, or leave it: the priors that the federation publishes can be used at no cost",
        )
