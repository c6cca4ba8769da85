"""Computer experiments in several fidelities, as the paper's appendix has them.

Each takes inputs of shape (n, d) in the units of its own domain and gives shape (n,). Where the paper's formula has no
value the limit is taken: at x2 = 0 for CURRIN, at x1 = 0 for PARK.
"""

import numpy as np

from fgpr.gp.arrays import Array

_HARTMANN_A = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_HARTMANN_P = np.array(
    [[0.3689, 0.1170, 0.2673], [0.4699, 0.4387, 0.7470], [0.1091, 0.8732, 0.5547], [0.0381, 0.5743, 0.8828]]
)
_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_DELTA = np.array([0.01, -0.01, -0.1, 0.1])


def currin(X: Array) -> Array:
    """CURRIN, high fidelity, on [0, 1]^2 (Currin et al. 1991)."""
    x1, x2 = X.T
    # exp(-1 / (2 x2)) tends to 0 with x2, so the factor to 1.
    decay = np.exp(-1.0 / (2.0 * np.where(x2 > 0.0, x2, 1.0)))
    factor = np.where(x2 > 0.0, 1.0 - decay, 1.0)
    numerator = 2300.0 * x1**3 + 1900.0 * x1**2 + 2092.0 * x1 + 60.0
    value: Array = factor * numerator / (100.0 * x1**3 + 500.0 * x1**2 + 4.0 * x1 + 20.0)
    return value


def currin_low(X: Array) -> Array:
    """CURRIN, low fidelity: the mean of four neighbours (Xiong et al. 2013)."""
    x1, x2 = X.T
    above, below = x2 + 0.05, np.maximum(0.0, x2 - 0.05)
    neighbours = [np.column_stack([x1 + side, x]) for side in (0.05, -0.05) for x in (above, below)]
    return sum((0.25 * currin(neighbour) for neighbour in neighbours), start=np.zeros(len(X)))


def park(X: Array) -> Array:
    """PARK, high fidelity, on (0, 1]^4 (Cox et al. 2001; Xiong et al. 2013)."""
    x1, x2, x3, x4 = X.T
    # (x1 / 2) (sqrt(1 + r / x1^2) - 1), with x1 taken under the root: no quotient, and the limit at x1 = 0.
    root = 0.5 * (np.sqrt(x1**2 + (x2 + x3**2) * x4) - x1)
    value: Array = root + (x1 + 3.0 * x4) * np.exp(1.0 + np.sin(x3))
    return value


def park_low(X: Array) -> Array:
    """PARK, low fidelity."""
    x1, x2, x3, _ = X.T
    value: Array = (1.0 + np.sin(x1) / 10.0) * park(X) - 2.0 * x1 + x2**2 + x3**2 + 0.5
    return value


def branin(X: Array) -> Array:
    """BRANIN, high fidelity, on [-5, 10] x [0, 15]: the standard function."""
    x1, x2 = X.T
    valley = -1.275 * x1**2 / np.pi**2 + 5.0 * x1 / np.pi + x2 - 6.0
    value: Array = valley**2 + (10.0 - 5.0 / (4.0 * np.pi)) * np.cos(x1) + 10.0
    return value


def branin_medium(X: Array) -> Array:
    """BRANIN, medium fidelity, with the square root (Perdikaris et al. 2017; Cutajar et al. 2019)."""
    x1, x2 = X.T
    value: Array = 10.0 * np.sqrt(branin(X - 2.0)) + 2.0 * (x1 - 0.5) - 3.0 * (3.0 * x2 - 1.0) - 1.0
    return value


def branin_low(X: Array) -> Array:
    """BRANIN, low fidelity: the medium one at 1.2 (x + 2)."""
    value: Array = branin_medium(1.2 * (X + 2.0)) - 3.0 * X[:, 1] + 1.0
    return value


def hartmann(X: Array, fidelity: int = 3) -> Array:
    """Hartmann-3D, on [0, 1]^3; fidelity 3 is the high one, 1 the low one. Its sign is the paper's: values above 0."""
    alpha = _HARTMANN_ALPHA + (3 - fidelity) * _HARTMANN_DELTA
    distances = np.einsum("ij,nij->ni", _HARTMANN_A, (X[:, np.newaxis, :] - _HARTMANN_P) ** 2)
    value: Array = np.exp(-distances) @ alpha
    return value


def borehole(X: Array) -> Array:
    """Borehole, high fidelity: flow of water through a borehole, in m^3 a year, of eight inputs in their own units."""
    return _borehole(X, 2.0 * np.pi, 1.0)


def borehole_low(X: Array) -> Array:
    """Borehole, low fidelity. The paper's factor is 5 pi, others have 5; it vanishes when targets are scaled."""
    return _borehole(X, 5.0 * np.pi, 1.5)


def linear(X: Array) -> Array:
    """The paper's linear example, high fidelity, on [0, 1]: Forrester's function."""
    x = X[:, 0]
    value: Array = (6.0 * x - 2.0) ** 2 * np.sin(12.0 * x - 4.0)
    return value


def linear_low(X: Array) -> Array:
    """The paper's linear example, low fidelity."""
    return 0.5 * linear(X) + 10.0 * (X[:, 0] - 0.5) + 5.0


def nonlinear(X: Array) -> Array:
    """The paper's non-linear example, high fidelity, on [0, 2]."""
    x = X[:, 0]
    value: Array = x * np.exp(nonlinear_low(2.0 * X - 0.2)) - 1.0
    return value


def nonlinear_low(X: Array) -> Array:
    """The paper's non-linear example, low fidelity."""
    value: Array = np.cos(15.0 * X[:, 0])
    return value


def _borehole(X: Array, factor: float, constant: float) -> Array:
    x1, x2, x3, x4, x5, x6, x7, x8 = X.T
    ratio = np.log(x2 / x1)
    resistance = ratio * (constant + 2.0 * x7 * x3 / (ratio * x1**2 * x8) + x3 / x5)
    flow: Array = factor * x3 * (x4 - x6) / resistance
    return flow
