"""`Polynomial`: one polynomial for all clients, its coefficients averaged by FedAvg; its degree chosen.

Clients descend the gradient of their mean squared error. In the basis of Chebyshev polynomials on the declared range
that converges; in powers of x, as the paper prints it, gradient descent stands still from the fourth degree on. The
space of functions is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

DEGREES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
ROUNDS = 100
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
    bases = [_basis(client.X, degree) for client in clients]
    # A step along a gradient stays stable below 2 over the largest eigenvalue of its Hessian.
    rates = [RATE / float(np.linalg.eigvalsh(basis.T @ basis / len(basis)).max()) for basis in bases]
    coefficients: Array = np.zeros(degree + 1)
    for _ in range(rounds):
        contributions = []
        for client, basis, rate in zip(clients, bases, rates, strict=True):
            own: Array = coefficients.copy()
            for _step in range(LOCAL_STEPS):
                own = own - rate * (basis.T @ (basis @ own - client.y)) / client.y.size
            contributions.append(Contribution(client.client, own, client.y.size))
        coefficients = weighted_average(contributions)
    return Polynomial(coefficients)


def _basis(X: Array, degree: int) -> Array:
    basis: Array = np.asarray(chebyshev.chebvander(2.0 * X[:, 0] - 1.0, degree), dtype=np.float64)
    return basis
