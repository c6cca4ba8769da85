"""`Polynomial`: one polynomial for all clients, its coefficients averaged by FedAvg, or one of each client's own.

Clients descend the gradient of their mean squared error. In the basis of Chebyshev polynomials on the declared range
that converges; in powers of x, as the paper prints it, gradient descent stands still from the fourth degree on. The
space of functions is the same.

E steps of descent on a squared error are one affine map of the coefficients, and so is the average of all clients'
maps: a round of FedAvg is that one map, whatever the number of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import solve_triangular

from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

DEGREES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50)
OWN_DEGREES = (0, 1, 2, 3, 4, 5, 6)
"""Of a client that fits its own rows."""

ROUNDS = 3000
LOCAL_STEPS = 10
RATE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A trained polynomial of one input in [0, 1].

    Attributes:
        coefficients: of the Chebyshev polynomials of 2 x - 1, shape (degree + 1,).
    """

    coefficients: Array

    def predict(self, X: Array) -> Array:
        """At inputs of shape (m, 1)."""
        mean: Array = _basis(X, self.coefficients.size - 1) @ self.coefficients
        return mean


def train_polynomial(clients: Sequence[LocalData], degree: int, rounds: int = ROUNDS) -> Polynomial:
    """FedAvg of the coefficients, weighted by rows."""
    total = sum(client.y.size for client in clients)
    factor, offset = np.zeros((degree + 1, degree + 1)), np.zeros(degree + 1)
    for client in clients:
        share = client.y.size / total
        own_factor, own_offset = _descent(_basis(client.X, degree), client.y)
        factor += share * own_factor
        offset += share * own_offset
    coefficients: Array = np.zeros(degree + 1)
    for _ in range(rounds):
        coefficients = factor @ coefficients + offset
    return Polynomial(coefficients)


def least_squares(clients: Sequence[LocalData], degree: int) -> Polynomial:
    """The polynomial with the least squared error over all rows: FedAvg without the drift of its local steps."""
    basis = np.concatenate([_basis(client.X, degree) for client in clients])
    coefficients, *_ = np.linalg.lstsq(basis, np.concatenate([client.y for client in clients]))
    return Polynomial(coefficients)


def own_polynomial(client: LocalData) -> Polynomial:
    """A client's own one, by least squares, of the degree whose errors at rows left out are least; 0 for one row.

    The error at a row that is left out is that of the fit over 1 - h, h the row's leverage (Allen 1974, Technometrics
    16).
    """
    best, least = Polynomial(np.zeros(1)), np.inf
    # What is left without a row has to tell all coefficients: as many different inputs.
    apart = np.unique(client.X[:, 0]).size if client.y.size > 1 else 0
    for degree in [one for one in OWN_DEGREES if one + 1 < max(2, apart) and apart]:
        basis = _basis(client.X, degree)
        q, r = np.linalg.qr(basis)
        coefficients = solve_triangular(r, q.T @ client.y)
        left_out = (client.y - basis @ coefficients) / (1.0 - (q**2).sum(axis=1))
        error = float(np.mean(left_out**2))
        if error < least:
            best, least = Polynomial(coefficients), error
    return best


def _descent(basis: Array, y: Array) -> tuple[Array, Array]:
    """`LOCAL_STEPS` steps of a client from any coefficients c: (F, f) with c becoming F c + f."""
    hessian = basis.T @ basis / y.size
    # A step along a gradient stays stable below 2 over the largest eigenvalue of its Hessian.
    rate = RATE / float(np.linalg.eigvalsh(hessian).max())
    step, shift = np.eye(len(hessian)) - rate * hessian, rate * (basis.T @ y / y.size)
    factor, offset = np.eye(len(hessian)), np.zeros(len(hessian))
    for _ in range(LOCAL_STEPS):
        factor, offset = step @ factor, step @ offset + shift
    return factor, offset


def _basis(X: Array, degree: int) -> Array:
    basis: Array = np.asarray(chebyshev.chebvander(2.0 * X[:, 0] - 1.0, degree), dtype=np.float64)
    return basis
