"""What is known of a robot arm, as a kernel, and a federation that shares its function.

A torque is gravity, which depends on positions, friction, which depends on velocities, and inertia, which is linear in
accelerations by factors that depend on positions (Craig 2005, *Introduction to Robotics*, ch. 6); and a rest, which
depends on all of them.
"""

from fgpr.experiments import federations
from fgpr.federated import shared_function, shared_training
from fgpr.federated.kernel_choice import Clients
from fgpr.federated.shared_function import SharedFunction
from fgpr.federated.split_prior import Split
from fgpr.gp.model import ModelSpec
from fgpr.gp.random_features import RandomFeatures

_POSITIONS, _VELOCITIES, _ACCELERATIONS = (
    ", ".join(f"x{place}" for place in range(first, first + 7)) for first in (1, 8, 15)
)
_KNOWN = f"rbf({_POSITIONS}) + rbf({_VELOCITIES}) + rbf({_POSITIONS}) * linear({_ACCELERATIONS})"
KERNEL = f"matern-3/2 + {_KNOWN}"
"""The rest, gravity, friction, inertia."""

SHARED_KERNEL = f"rbf + {_KNOWN}"
"""That of the common function: a Matern's spectrum has long tails, so that it takes many more features to come near."""

START = 10
"""Iterations of L-BFGS at the server on theta alone, where the common function's training starts."""

SHARES: tuple[float, ...] = (0.2, 0.9, 0.9, 0.9)
"""Common parts of the terms that training starts from."""

STAGES = (((600, 60, 60, 280), 25), ((1500, 80, 80, 420), 15))
"""Of training theta and shares: features of each term, and iterations. Few features are cheap, and leave to the noise
what they cannot show."""

FEATURES, FEATURE_SEED = (8000, 100, 100, 700), 0
"""By which the function is learned. The rest, which varies by all 21 inputs, needs most. All clients know the seed."""

SETTINGS = {
    "kernel": SHARED_KERNEL,
    "training": "L-BFGS on sums, theta and shares",
    "start iterations": START,
    "stages": [[list(features), iterations] for features, iterations in STAGES],
    "features": list(FEATURES),
    "feature_seed": FEATURE_SEED,
    "shares": list(SHARES),
}


def learned(spec: ModelSpec, clients: Clients, ranges: float) -> tuple[SharedFunction, float]:
    """The common function of these devices, and the loss that theta alone has where training of both starts.

    Args:
        spec: a model with `SHARED_KERNEL`.
        clients: the devices.
        ranges: length-scales that theta starts from, in ranges of the features.
    """
    alone = federations.descended(spec, clients, START, ranges)
    theta, shares = alone.theta, SHARES
    for count, iterations in STAGES:
        found = shared_training.trained(spec, theta, shares, clients, count, FEATURE_SEED, iterations)
        theta, shares = found.theta, found.shares
    features = RandomFeatures.drawn(spec.correlation, theta, FEATURES, FEATURE_SEED, len(spec.features))
    return shared_function.learned(Split(spec, features.theta, shares, features), clients), alone.loss
