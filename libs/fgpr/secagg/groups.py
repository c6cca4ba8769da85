"""Groups inside one cohort: clients dealt by a hash, sums opened apart, averages combined: few liars are outvoted.

The invited are dealt when the plan is made, from the roster's nonce as seats are drawn, so that whoever sees the
contributions chooses nothing, and honest clients and corrupt ones mix by chance (docs/protocol.md, Groups).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fgpr import canonical
from fgpr.errors import CommitteeError, EncodingError, LocalProtocolError
from fgpr.secagg.committee import DRAWS

GROUP = "fgpr-v1/group"
"""Label of the deal."""

Combine = Literal["mean", "median", "trimmed-mean"]
"""How the averages of the groups become one; "mean" is for a cohort that is one group."""

FEWEST = 3
"""The median of two is their mean: with fewer groups nobody is outvoted."""


def check_groups(groups: int, combine: Combine, noised: bool = False) -> None:
    """Check that the rules belong together.

    Args:
        groups: G.
        combine: how their averages become one.
        noised: under differential privacy. Each group would carry the whole noise of a cohort, and the median of noisy
            averages is no average plus noise: nothing accounts for it here.

    Raises:
        EncodingError: one group with another rule than "mean", more with "mean", or two; groups under differential
            privacy.
    """
    if noised and groups != 1:
        raise EncodingError(f"{groups} groups under differential privacy: there may be one; choose one of the two")
    if groups == 1 and combine != "mean":
        raise EncodingError(f"combine {combine!r} needs groups: {FEWEST} or more, and there is one")
    if groups != 1 and (combine == "mean" or groups < FEWEST):
        raise EncodingError(
            f"{groups} groups combined by {combine!r}: {FEWEST} groups or more are combined by 'median' or "
            "'trimmed-mean', and one group is averaged"
        )


def deal(invited: Sequence[str], groups: int, nonce: bytes, theta_version: int) -> tuple[int, ...]:
    """The group of each invited client, 1..G, in the order of `invited`; nothing where there is one group.

    In order of H(nonce, theta version mod 1024, client) they are dealt out in turn, so that sizes differ by one.

    Args:
        invited: client ids, each once.
        groups: G.
        nonce: of the roster.
        theta_version: the prior version that first carried this theta.

    Raises:
        CommitteeError: fewer clients than groups.
    """
    if groups == 1:
        return ()
    if len(invited) < groups:
        raise CommitteeError(f"{len(invited)} invited clients cannot be dealt to {groups} groups")
    told = {"nonce": canonical.to_text(nonce), "theta_version": theta_version % DRAWS}
    ordered = sorted(invited, key=lambda name: canonical.digest(GROUP, told | {"client": name}))
    number = {name: 1 + place % groups for place, name in enumerate(ordered)}
    return tuple(number[name] for name in invited)


def fewest_groups(groups: int) -> int:
    """Groups that a cohort must count: more than half of all, and three at least where there are any."""
    return 1 if groups == 1 else max(FEWEST, groups // 2 + 1)


def combine_averages(averages: Sequence[NDArray[np.float64]], combine: Combine) -> NDArray[np.float64]:
    """Number by number, the median of the groups' averages, or their mean without a quarter at each end.

    Groups count alike, whatever the weights in them: else one heavy liar would carry its group past the others. Yin et
    al. (2018, arXiv:1803.01498), definitions 1 and 2, with groups in place of machines (median of means). Sums are
    rounded once, so that every machine gets the same bits.

    Args:
        averages: one of shape [L] a group.
        combine: the rule. "trimmed-mean" leaves out max(1, floor(g / 4)) of g groups at each end, and is the mean of
            the two where there are only two.

    Returns:
        Shape [L].

    Raises:
        LocalProtocolError: no average.
    """
    if not averages:
        raise LocalProtocolError("no group has an average to combine")
    if len(averages) == 1:
        return averages[0]
    ordered = np.sort(np.stack(averages), axis=0)
    count = len(averages)
    cut = (count - 1) // 2 if combine == "median" else min(max(1, count // 4), (count - 1) // 2)
    kept = ordered[cut : count - cut] if combine != "mean" else ordered
    return np.array([math.fsum(column) / len(column) for column in kept.T.tolist()])
