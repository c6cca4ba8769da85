"""FGPR whose clients share a part of the function itself: the mean of the one prior is learned beside its covariance.

The FGPR paper (Yue & Kontar) shares hyper-parameters and nothing else: each client knows its own rows alone. Where
clients' functions are alike, more can be shared. The function of client k is f_k = g + h_k. Of each term K_i of the
prior's covariance sum_i K_i a share rho_i is g's, which all have in common, and the rest is h_k's, the client's own:

    g(x) = phi(x)'w,  w ~ N(0, I)           h_k ~ GP(0, sum_i (1 - rho_i) K_i)

with phi(x)'phi(x') about sum_i rho_i K_i(x, x') (`fgpr.gp.random_features`). Where all rho_i are 0 this is FGPR. With
S_k the covariance of h_k and the noise at client k's rows, Phi_k the features there, and

    A_k = Phi_k' S_k^-1 Phi_k        b_k = Phi_k' S_k^-1 y_k        A = sum_k A_k, b = sum_k b_k

w is normal with mean (I + A)^-1 b and covariance (I + A)^-1, and all clients' rows together have

    -log p(y) = sum_k -log N(y_k; 0, S_k) + log|I + A| / 2 - b' (I + A)^-1 b / 2.

So sums over clients are all that is needed. Source: explicit basis functions, Rasmussen & Williams (2006), sec. 2.7,
eq. (2.40) to (2.43) p. 28, with the prior of the weights kept; determinant and inverse by (A.9) and (A.10) p. 201.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ddot, dgemv, dsyrk, dtrsm, dtrsv
from scipy.linalg.lapack import dpotrs

from fgpr.errors import DataError, NumericalError
from fgpr.federated.kernel_choice import Clients
from fgpr.federated.simulation import LocalData
from fgpr.federated.split_prior import Split
from fgpr.gp.arrays import Array, diagonal, inputs
from fgpr.gp.cholesky import factorise
from fgpr.gp.kernels.panels import mirror
from fgpr.gp.model import ModelSpec
from fgpr.gp.prediction import Prediction
from fgpr.gp.random_features import RandomFeatures

SHARES = (0.0, 0.5, 0.9, 0.99)
"""Common parts of all terms that evidence may choose from."""

_LOG_2_PI = math.log(2.0 * math.pi)


class Sums(NamedTuple):
    """What a client sends, and what the server adds up.

    Attributes:
        precision: A, symmetric, shape (D, D).
        projection: b, shape (D,).
        nats: -log N(y; 0, S).
        rows: n.
    """

    precision: Array
    projection: Array
    nats: float
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class SharedFunction:
    """What a federation learned: weights of the common function beside theta.

    Attributes:
        split: the prior.
        mean: of the weights, shape (D,).
        factor: Cholesky factor of I + A in its lower triangle, the inverse of the weights' covariance; shape (D, D).
        loss: -log p(y) of all clients' rows over their number, nats a point.
    """

    split: Split
    mean: Array
    factor: Array
    loss: float

    def predict(self, client: LocalData, X: npt.ArrayLike) -> Prediction:
        """What a client knows of its function at new inputs.

        Its rows are among those that the weights were learned from, so that nothing is counted twice: given the
        weights, it conditions its own function on what they leave. The variance is exact too, for the features:

            mean(x) = phi'm + k'S^-1 (y - Phi m)
            var(x)  = k(x, x) - k'S^-1 k + u'(I + A)^-1 u,  u = phi - Phi'S^-1 k.

        Args:
            client: one of those that were learned from.
            X: shape (m, d), in the features' units.

        Raises:
            DataError: another number of features, or a value that is not finite.
            NumericalError: as `fgpr.gp.posterior.Posterior.predict`.
        """
        split, new = self.split, inputs(X, len(self.split.spec.features))
        there, here = split.common(new), split.common(client.X)
        own = split.own(client, client.y - here @ self.mean)
        told = own.predict(new)
        solved, _ = dpotrs(own.factor, here, lower=1)
        # Covariances of the new inputs with the rows, over the signal variance, as the factor is.
        covariance = own.covariance
        cross = covariance.scaled(new, own.centre).cross(covariance.scaled(client.X, own.centre))
        unsure = dtrsm(1.0, self.factor, (there - cross @ solved).T, lower=1)
        latent = told.latent_variance + np.einsum("ij,ij->j", unsure, unsure)
        return Prediction(there @ self.mean + told.mean, latent, told.noise_variance, told.method, told.jitter)


def sums_of(split: Split, client: LocalData) -> Sums:
    """A client's part; it needs its own rows and the prior alone.

    Raises:
        DataError: no rows, or a value that is not finite.
        NumericalError: S cannot be factorised, or a sum is not finite.
    """
    own = split.own(client, client.y)
    if own.prior_only:
        raise DataError(f"client {client.client} has no rows to learn from")
    s2 = own.signal_variance
    white = dtrsm(1.0, own.factor, split.common(client.X), lower=1)
    half = dtrsv(own.factor, client.y, lower=1)
    precision = dsyrk(1.0 / s2, white, trans=1, lower=1)
    mirror(precision)
    log_determinant = 2.0 * float(np.log(diagonal(own.factor)).sum()) + half.size * math.log(s2)
    # BLAS overflows without a warning, unlike `@`.
    nats = 0.5 * (float(ddot(half, half)) / s2 + log_determinant + half.size * _LOG_2_PI)
    found = Sums(precision, dgemv(1.0 / s2, white, half, trans=1), nats, half.size)
    if not (math.isfinite(nats) and np.isfinite(precision).all() and np.isfinite(found.projection).all()):
        raise NumericalError(f"sums of client {client.client} are not finite: its targets are too large; scale them")
    return found


def solved(split: Split, parts: Iterable[Sums]) -> SharedFunction:
    """What the server makes of the clients' sums.

    Args:
        split: the prior that they were made with.
        parts: one a client; each is added up as it comes, and may be forgotten then.

    Raises:
        DataError: no parts, or one for another number of features.
        NumericalError: a sum is not finite, or I + A cannot be factorised.
    """
    count = split.features.count
    precision, projection = np.zeros((count, count), order="F"), np.zeros(count)
    nats, rows = 0.0, 0
    for part in parts:
        if part.precision.shape != (count, count) or part.projection.shape != (count,):
            raise DataError(f"sums of another size than the {count} features of the common function")
        precision += part.precision
        projection += part.projection
        nats += part.nats
        rows += part.rows
    if not rows:
        raise DataError("no clients: nothing to learn from")
    if not (np.isfinite(precision).all() and np.isfinite(projection).all() and math.isfinite(nats)):
        raise NumericalError("the sums over clients are not finite")
    factor = np.empty_like(precision)

    def fill() -> None:
        factor[...] = precision

    factorise(fill, factor, 1.0, 0.0, limit=0.0)
    half = dtrsv(factor, projection, lower=1)
    nats += float(np.log(diagonal(factor)).sum()) - 0.5 * float(ddot(half, half))
    return SharedFunction(split, dtrsv(factor, half, lower=1, trans=1), factor, nats / rows)


def learned(split: Split, clients: Clients) -> SharedFunction:
    """The common function of these clients, at these shares; raises as `sums_of` and `solved`."""
    return solved(split, (sums_of(split, client) for client in clients))


def chosen(
    spec: ModelSpec,
    theta: npt.ArrayLike,
    clients: Clients,
    count: int,
    seed: int,
    shares: Sequence[float] = SHARES,
) -> SharedFunction:
    """The common function at the shares with the best evidence: the likelihood of all clients' rows together.

    Args:
        spec: the model.
        theta: that the federation learned, shape (L,).
        clients: one entry a client.
        count: D, about; see `fgpr.gp.random_features`.
        seed: of the features, known to all.
        shares: to choose from, each for all terms of the kernel's sum; 0 is FGPR as it was published. For one of each
            term's own see `fgpr.federated.shared_training`.

    Raises:
        DataError: no clients, no shares, or one that is none.
        EncodingError: theta outside the model's bounds, or a kernel without random features.
        NumericalError: as `sums_of` and `solved`.
    """
    if not shares:
        raise DataError("no shares to choose from")
    spec.bounds.check(theta)
    features = RandomFeatures.drawn(spec.correlation, theta, count, seed, len(spec.features))
    terms = len(spec.correlation.expression.terms)
    splits = [Split(spec, features.theta, (share,) * terms, features) for share in shares]
    return min((learned(split, clients) for split in splits), key=lambda one: one.loss)
