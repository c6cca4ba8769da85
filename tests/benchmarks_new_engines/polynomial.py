"""A polynomial fitted to an engine's rows: the classical baseline, with its predictive Student t."""

from typing import NamedTuple

import numpy as np

from fgpr.gp.arrays import Array

DEGREES = (0, 1, 2, 3)


class Fitted(NamedTuple):
    """What it says of new inputs: Student t.

    Attributes:
        mean: shape (m,).
        scale: of a new measurement, shape (m,).
        degrees: of freedom.
    """

    mean: Array
    scale: Array
    degrees: float


def polynomial(x: Array, y: Array, at: Array) -> Fitted:
    """Least squares, of the degree that predicts each row best from the others (leave one out).

    Args:
        x: inputs, shape (n,), at least three different ones.
        y: targets, shape (n,).
        at: new inputs, shape (m,).
    """
    centre, width = x.mean(), max(float(np.ptp(x)), 1.0)
    best: tuple[float, Fitted] | None = None
    for degree in DEGREES:
        freedom = x.size - degree - 1
        if freedom < 1:
            break
        here, there = (np.vander((points - centre) / width, degree + 1) for points in (x, at))
        inverse = np.linalg.pinv(here.T @ here)
        coefficients = inverse @ here.T @ y
        residual = y - here @ coefficients
        leverage = np.einsum("ij,jk,ik->i", here, inverse, here)
        left_out = float(np.mean((residual / np.maximum(1.0 - leverage, 1e-12)) ** 2))
        if best is None or left_out < best[0]:
            variance = float(residual @ residual) / freedom
            spread = 1.0 + np.einsum("ij,jk,ik->i", there, inverse, there)
            best = left_out, Fitted(there @ coefficients, np.sqrt(np.maximum(variance, 1e-12) * spread), freedom)
    assert best is not None
    return best[1]
