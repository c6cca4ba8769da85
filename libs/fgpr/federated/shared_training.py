"""Training of a prior whose clients share a part of the function: theta and the shares by the likelihood of all rows.

As in `fgpr.federated.shared_function`, with M = I + A, w = M^-1 b, V_k = S_k^-1 Phi_k and a_k = S_k^-1 (y_k - Phi_k w),
the loss -log p(y) of all clients' rows together has the derivatives

    by Phi_k:  V_k M^-1 - a_k w'                by S_k:  (S_k^-1 - V_k M^-1 V_k' - a_k a_k') / 2.

The first holds through both A and b, the second through these and -log N(y_k; 0, S_k). With M and w each client can
form its own; the gradient by theta and by the shares is their sum. So a step has two sums over clients: A, b and L_k,
then the gradients. The draws of the features are kept, so that the loss is one smooth function. Source: the matrix
derivatives of Rasmussen & Williams (2006), (A.14) and (A.15) p. 202.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dgemm, dsyr
from scipy.linalg.lapack import dpotrs

from fgpr.errors import DataError, NumericalError
from fgpr.federated import shared_function
from fgpr.federated.kernel_choice import Clients
from fgpr.federated.shared_function import SharedFunction
from fgpr.federated.simulation import LocalData
from fgpr.federated.split_prior import Split
from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.cholesky import factorise_covariance
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.inverse import invert_from_factor
from fgpr.gp.model import ModelSpec
from fgpr.gp.optimisers import minimise
from fgpr.gp.random_features import Counts, RandomFeatures

SHARE_RANGE = (0.001, 0.9999)
"""Common parts that training may come to; a term's own part stays above 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What training found.

    Attributes:
        theta: in the wire order, shape (L,), inside the model's bounds.
        shares: one a term.
        loss: -log p(y) of all clients' rows over their number, nats a point, with the features it was trained by.
        evaluations: of loss and gradient; each is two sums over clients.
        converged: the optimiser reached its tolerance.
    """

    theta: Array
    shares: tuple[float, ...]
    loss: float
    evaluations: int
    converged: bool


def gradient_of(found: SharedFunction, client: LocalData) -> tuple[Array, Array]:
    """A client's part of the gradient of -log p(y); it needs its own rows and what the server published.

    Args:
        found: the common function at this theta and these shares.
        client: one of those that it was learned from.

    Returns:
        The derivatives by theta, shape (L,), and by the shares' log odds, log rho / (1 - rho), one a term.

    Raises:
        DataError: a value that is not finite.
        EncodingError: a kernel whose draws have no gradient.
        NumericalError: S cannot be factorised, or the gradient is not finite.
    """
    split, rows = found.split, client.y.size
    theta = split.own_theta
    placed = split.spec.correlation.place(client.X)
    placed.rescale(theta)
    s2 = placed.signal_variance
    q = math.exp(2.0 * theta[NOISE]) / s2
    matrix, weight = np.empty((rows, rows), order="F"), np.empty((rows, rows), order="F")
    factorise_covariance(placed, client.X, matrix, weight, q)

    phi = split.common(client.X)
    left = client.y - phi @ found.mean
    a = dpotrs(matrix, left, lower=1)[0] / s2
    V = dpotrs(matrix, phi, lower=1)[0] / s2
    # M^-1 V': from here on V_k M^-1 is what is needed, transposed.
    U, _ = dpotrs(found.factor, V.T, lower=1)
    common, signals = split.features.gradient(client.X, phi, U.T - np.outer(a, found.mean))

    invert_from_factor(matrix)
    dgemm(-s2, V, U, beta=1.0, c=matrix, overwrite_c=1)
    dsyr(-s2, a, lower=1, a=matrix, overwrite_a=1)
    # tr S_k times the derivative by it, twice; without a matrix, as S_k V_k is Phi_k.
    total = rows - float(np.vdot(U, phi.T)) - float(a @ left)
    noise = q * float(diagonal(matrix).sum())
    own = np.empty_like(theta)
    placed.gradient(matrix, weight, total - noise, own)
    own[NOISE] = noise

    rho = np.array(split.shares)
    odds = 0.5 * ((1.0 - rho) * signals - rho * own[split.signals])
    if not (np.isfinite(common).all() and np.isfinite(own).all()):
        raise NumericalError(f"the gradient of client {client.client} is not finite: scale its targets and inputs")
    return common + own, odds


def trained(
    spec: ModelSpec,
    theta: npt.ArrayLike,
    shares: Sequence[float],
    clients: Clients,
    count: Counts,
    seed: int,
    iterations: int,
) -> Trained:
    """Theta and shares by L-BFGS at the server on the clients' sums.

    Args:
        spec: the model, without priors of its hyper-parameters.
        theta: where to start, shape (L,); what a federation that shares theta alone has learned, say.
        shares: where to start, one a term.
        clients: one entry a client.
        count: features, in all or for each term; fewer than a prediction needs may do.
        seed: of the features, known to all.
        iterations: at most so many.

    Raises:
        DataError: no clients, a share outside `SHARE_RANGE`, or a model with priors.
        EncodingError: theta outside the model's bounds, or a kernel whose draws have no gradient.
        NumericalError: no finite loss at the start.
    """
    spec.bounds.check(theta)
    if spec.priors:
        raise DataError("a model with priors cannot be trained by the likelihood of all rows: leave them out")
    least, largest = SHARE_RANGE
    for share in shares:
        if not least <= share <= largest:
            raise DataError(f"a common share to start from is {share}: expected {least} to {largest}")
    size = len(spec.bounds.lower)
    rows = sum(client.y.size for client in clients)

    def objective(point: Array) -> tuple[float, Array]:
        found = shared_function.learned(_split(spec, point[:size], point[size:], count, seed), clients)
        gradient = np.zeros(point.size)
        for client in clients:
            by_theta, by_odds = gradient_of(found, client)
            gradient[:size] += by_theta
            gradient[size:] += by_odds
        return found.loss, gradient / rows

    lower = np.concatenate([spec.bounds.lower, np.full(len(shares), _odds(least))])
    upper = np.concatenate([spec.bounds.upper, np.full(len(shares), _odds(largest))])
    start = np.concatenate([np.asarray(theta, dtype=np.float64), [_odds(share) for share in shares]])
    best = minimise(objective, start, lower, upper, iterations)
    split = _split(spec, spec.bounds.clip(best.theta[:size]).theta, best.theta[size:], count, seed)
    return Trained(split.theta, split.shares, best.value, best.evaluations, best.converged)


def _split(spec: ModelSpec, theta: Array, odds: Array, count: Counts, seed: int) -> Split:
    # A share at its limit is not to leave it by rounding.
    shares = tuple(np.clip(1.0 / (1.0 + np.exp(-odds)), *SHARE_RANGE).tolist())
    features = RandomFeatures.drawn(spec.correlation, theta, count, seed, len(spec.features))
    return Split(spec, features.theta, shares, features)


def _odds(share: float) -> float:
    return math.log(share / (1.0 - share))
