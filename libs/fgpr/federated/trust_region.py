"""The trust region: how far one round may move each number of a prior.

Limits what liars can do in a round where nothing outvotes them, and stops a prior that left for nowhere. It is a rule
of the federation and stands in the plan, so that whoever verifies the log applies it again.
"""

from collections.abc import Sequence

import numpy as np


def overstepped(names: Sequence[str], before: np.ndarray, after: np.ndarray, largest_step: float | None) -> str | None:
    """What a candidate moves farther than it may, or None.

    Args:
        names: of the numbers, L.
        before: the last prior, shape [L], in log space.
        after: the candidate, shape [L].
        largest_step: for each number, in log units; None allows everything.

    Returns:
        A sentence that names each such number, how far it moved, and the limit.
    """
    if largest_step is None:
        return None
    steps = np.abs(after - before)
    moved = [f"{name} by {step:.6g}" for name, step in zip(names, steps.tolist(), strict=True) if step > largest_step]
    return f"the average moves {', '.join(moved)}; the largest step is {largest_step:g}" if moved else None
