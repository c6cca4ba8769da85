"""What the rounds of a federation have cost a client in privacy, as each published prior says it.

It is the cost of a client that took part in every round so far. Each planned round counts, published or not: an aborted
one may have been opened in secret, and one that was proven void is counted all the same.
"""

import math
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fgpr.errors import VerificationError
from fgpr.federated import accounting
from fgpr.message import Count, Message
from fgpr.secagg.messages import Plan
from fgpr.secagg.privacy import Delta, Mechanism

_SLACK = 2e-6
"""Difference that exponentials and logarithms of two machines may make, after epsilon is rounded to millionths."""


class PublishedPrivacy(Message):
    """The privacy of a prior.

    Attributes:
        mechanism: of the rounds.
        rounds: how many were planned so far.
        rho: what they cost together, zero-concentrated (`fgpr.federated.accounting`).
        delta: of the plan.
        epsilon: at delta, of rho.
        clamped: names of averages that noise carried out of their bounds in this round; they are at the bound.
    """

    mechanism: Mechanism
    rounds: Annotated[Count, Field(ge=1)]
    rho: Annotated[float, Field(ge=0)]
    delta: Delta
    epsilon: Annotated[float, Field(ge=0)]
    clamped: tuple[str, ...] = ()


def privacy_after(
    before: PublishedPrivacy | None, since: Sequence[Plan], clamped: tuple[str, ...] = ()
) -> PublishedPrivacy | None:
    """The privacy after more rounds; None where there is none.

    Args:
        before: that of the last prior.
        since: plans of all rounds since that one.
        clamped: what the newest round clamped.
    """
    found = before
    for plan in since:
        terms = plan.differential_privacy
        if terms is None:
            continue
        rho = (0.0 if found is None else found.rho) + accounting.rho(terms)
        found = PublishedPrivacy(
            mechanism=terms.mechanism,
            rounds=1 + (0 if found is None else found.rounds),
            rho=rho,
            delta=terms.delta,
            epsilon=accounting.epsilon(rho, terms.delta),
        )
    return None if found is None else found.model_copy(update={"clamped": clamped})


def verify_privacy(told: PublishedPrivacy | None, wanted: PublishedPrivacy | None, what: str) -> None:
    """Check what a prior says of its privacy.

    Args:
        told: by the prior.
        wanted: from the plans.
        what: names the prior.

    Raises:
        VerificationError: they differ by more than the last digits of a float.
    """
    if told is None or wanted is None:
        same = told is wanted
    else:
        numbers = {"rho": told.rho, "epsilon": told.epsilon}
        same = told.model_copy(update={"rho": wanted.rho, "epsilon": wanted.epsilon}) == wanted and all(
            math.isclose(value, getattr(wanted, name), rel_tol=1e-9, abs_tol=_SLACK) for name, value in numbers.items()
        )
    if not same:
        raise VerificationError(f"{what} does not say what its rounds cost in privacy")
