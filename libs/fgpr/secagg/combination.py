"""From the opened sums of a round to one average: each group decoded apart, then combined by the plan's rule.

Whoever publishes does it once, and whoever verifies the log does it again from the logged sums, bit for bit.
"""

from dataclasses import dataclass

import numpy as np

from fgpr.errors import EncodingError, SumRefused
from fgpr.secagg.differences import codec_of
from fgpr.secagg.encoding import Decoded
from fgpr.secagg.field import Elements
from fgpr.secagg.groups import combine_averages
from fgpr.secagg.messages import Cohort, Plan


@dataclass(frozen=True)
class Combined:
    """What the sums of a cohort give.

    Attributes:
        average: shape [L]: the weighted average of the cohort, or that of its groups, combined.
        total_weight: the sum of the weights in it.
        refused: numbers of the groups that were counted and whose sum no honest clients can have made.
        clamped: names of averages that noise carried out of their bounds; only under differential privacy.
    """

    average: np.ndarray
    total_weight: int
    refused: tuple[int, ...]
    clamped: tuple[str, ...]


def combine_sums(plan: Plan, cohort: Cohort, vector: Elements) -> Combined:
    """Decode the sum of each group and combine the averages.

    A group whose sum cannot be honest is left out, since somebody in it lied; k liars stop nothing while k is less than
    half of the groups that the cohort counts.

    Args:
        plan: the round's plan.
        cohort: the counted contributions.
        vector: shape [G (L + 1)], a sum a group; zeros for one that the cohort leaves out or that could not be opened.

    Raises:
        SumRefused: no more than half of the counted groups have a sum that can be an honest average.
        EncodingError: another shape.
    """
    codec = codec_of(plan)
    if vector.shape != (plan.groups * codec.length,):
        raise EncodingError(f"{plan.groups} sums of {codec.length} elements are needed, got shape {vector.shape}")
    decoded: list[Decoded] = []
    faults: dict[int, SumRefused] = {}
    parts = plan.parts(cohort.clients())
    for number, (clients, part) in enumerate(zip(parts, vector.reshape(plan.groups, -1), strict=True), start=1):
        if not clients:
            continue
        try:
            decoded.append(codec.decode(part, len(clients)))
        except SumRefused as fault:
            faults[number] = fault
    if len(decoded) <= len(faults):
        raise _refusal(plan, faults)
    average = combine_averages([each.average for each in decoded], plan.combine)
    # Noise goes with one group only (`fgpr.secagg.privacy`), so that these are the names of one average.
    clamped = decoded[0].clamped if plan.groups == 1 else ()
    return Combined(average, sum(each.total_weight for each in decoded), tuple(faults), clamped)


def _refusal(plan: Plan, faults: dict[int, SumRefused]) -> SumRefused:
    if plan.groups == 1:
        return next(iter(faults.values()), SumRefused("a cohort of nobody has no average"))
    told = "; ".join(f"group {number}: {fault}" for number, fault in faults.items())
    return SumRefused(f"half of the groups or more have no honest average: {told}")
