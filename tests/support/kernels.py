"""Kernels to test every property of a kernel on, and small problems for them."""

import numpy as np

from fgpr.gp.arrays import Array
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.model import Feature

FASTEST = ("rbf", "matern-3/2")
"""The kernels whose theta is oldest and whose time is held against LAPACK."""

SINGLE = (
    "rbf",
    "matern-1/2",
    "matern-3/2",
    "matern-5/2",
    "matern(nu=0.3)",
    "matern(nu=1)",
    "matern(nu=2.2)",
    "rational-quadratic",
    "periodic",
)

STATIONARY = (
    *SINGLE,
    "rbf + 0.5 * periodic(period=0.7)",
    "rbf * matern-3/2",
    "periodic * rbf(length-scale=2) + matern-1/2 + constant",
    "rational-quadratic * periodic * matern-5/2 + 2 * rbf",
)

EVERY = (
    *STATIONARY,
    "constant",
    "linear",
    "rbf(x1) + linear + constant",
    "linear * rational-quadratic(x1, alpha=0.5) + matern(x1, nu=0.7)",
    "matern-5/2(x1) * linear(x1) * linear",
)


def axes(features: int) -> tuple[Feature, ...]:
    return tuple(Feature(f"x{n + 1}", "1", 100.0, 101.0 + n) for n in range(features))


def kernel(text: str, features: int) -> Kernel:
    return kernel_named(text, axes(features))


def problem(text: str, features: int, rows: int = 25) -> tuple[Kernel, Array, Array, Array]:
    """(kernel, X, y, theta): theta near the start values, length-scales long enough for many inputs."""
    rng = np.random.default_rng(features)
    made = axes(features)
    X = np.column_stack([rng.uniform(axis.lower, axis.upper, rows) for axis in made])
    y = np.sin(X.sum(axis=1)) + 0.3 * rng.normal(size=rows)
    ours = kernel(text, features)
    found = parameters.parameters(ours.expression, made)
    theta = np.log([parameter.start for parameter in found]) + rng.uniform(-0.3, 0.3, len(found))
    long = np.array(["length-scale" in parameter.name for parameter in found])
    theta[long] += np.log(2.0 * np.sqrt(features))
    return ours, X, y, theta
