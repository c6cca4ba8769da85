"""The exact optimum of the pooled objective sum_k L_k(theta) / N, the yardstick for federated averaging.

It needs every client's gradient at every step, so it is no protocol: it is for experiments on data at hand. L-BFGS-B
is SciPy's (Byrd, Lu, Nocedal and Zhu 1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds
from fgpr.gp.likelihood import Likelihood

MAX_ITERATIONS = 500
GRADIENT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PooledOptimum:
    """The best theta found.

    Attributes:
        theta: in the wire order, inside the bounds.
        loss: sum_k L_k / N at theta, nats a point.
        converged: the optimiser reached its tolerance.
        message: what the optimiser said.
        evaluations: how often the objective and its gradient were computed, over all starts.
        jitter: the largest that an evaluation needed, in units of the signal variance.
    """

    theta: Array
    loss: float
    converged: bool
    message: str
    evaluations: int
    jitter: float


def pooled_loss(likelihoods: Sequence[Likelihood], theta: npt.ArrayLike) -> float:
    """sum_k L_k(theta) / N in nats a point; raises as `Likelihood.value`."""
    return sum(likelihood.value(theta).nats for likelihood in likelihoods) / _points(likelihoods)


def optimise(likelihoods: Sequence[Likelihood], bounds: Bounds, starts: Sequence[npt.ArrayLike]) -> PooledOptimum:
    """Minimise the pooled objective within the bounds from each start, and keep the best.

    Args:
        likelihoods: one a client; they may share a workspace.
        bounds: of theta.
        starts: thetas to start from.

    Raises:
        DataError: no likelihoods or no starts.
        EncodingError: a start outside the bounds.
        NumericalError: no start leads to a finite value.
    """
    points = _points(likelihoods)
    if not starts:
        raise DataError("no theta to start from")
    jitter = 0.0

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal jitter
        total, gradient = 0.0, np.zeros(theta.size)
        for likelihood in likelihoods:
            part = likelihood.value_and_gradient(theta)
            total += part.nats
            gradient += part.gradient
            jitter = max(jitter, part.jitter)
        return total / points, gradient / points

    best = None
    evaluations = 0
    failure: NumericalError | None = None
    for start in starts:
        bounds.check(start)
        try:
            result = minimize(
                objective,
                np.asarray(start, dtype=np.float64),
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(bounds.lower, bounds.upper, strict=True)),
                options={"maxiter": MAX_ITERATIONS, "gtol": GRADIENT_TOLERANCE, "ftol": 1e-12},
            )
        except NumericalError as error:
            failure = error
            continue
        evaluations += int(result.nfev)
        if best is None or result.fun < best.fun:
            best = result
    if best is None:
        raise NumericalError(f"none of {len(starts)} starts leads to a finite value; the last one: {failure}")
    return PooledOptimum(
        bounds.clip(best.x).theta, float(best.fun), bool(best.success), str(best.message), evaluations, jitter
    )


def _points(likelihoods: Sequence[Likelihood]) -> int:
    if not likelihoods:
        raise DataError("no clients: a pooled objective needs at least one")
    return sum(likelihood.rows for likelihood in likelihoods)
