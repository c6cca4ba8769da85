"""Theta for one device: fitted to its rows alone, or fitted to them and held near the federation's.

Fine-tuning maximises the likelihood of the device's own rows times a log-normal density round each served
hyper-parameter (`fgpr.gp.hyperprior`; the maximum a posteriori theta):

    L(theta) + sum_i (theta_i - served_i)^2 / (2 sigma^2)

with L the negative log likelihood in nats and theta in log space. Sigma is one number: how far, in log units, the theta
of a device is thought to lie from the served one. The penalty is the same whatever the number of rows, so that few rows
leave theta where it was, and many have their say. Source: penalised personalisation, T. Li, S. Hu, A. Beirami and V.
Smith (2021), Ditto, ICML, eq. (1); Rasmussen & Williams (2006), section 5.1 for the posterior over hyper-parameters.
"""

import math

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.federated import pooled
from fgpr.federated.pooled import PooledOptimum
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.hyperprior import SIGMA_LIMITS, LogNormal
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.model import ModelSpec, Prior

DEFAULT_SIGMA = 0.3
"""A factor of 1.35 up or down is one sigma."""

_STARTS = ((0.0, 0.0), (-1.5, 0.0), (1.5, 0.0), (-3.0, 0.0), (0.0, -1.5), (-1.5, -1.5), (1.5, 0.7))
"""What is added to each log scale of the inputs, and to the log noise sd."""


def fine_tune(prior: Prior, X: npt.ArrayLike, y: npt.ArrayLike, sigma: float = DEFAULT_SIGMA) -> PooledOptimum:
    """The theta that fits these rows best while the penalty holds it near the served one.

    Args:
        prior: as served.
        X: inputs of the device's rows, shape (n, d).
        y: scaled targets, shape (n,).
        sigma: strength of the penalty, 0.001 to 1000; smaller holds it nearer.

    Raises:
        DataError: no rows, values that cannot be used, or a sigma that is none.
        NumericalError: the likelihood has no finite value at the served theta.
    """
    low, high = SIGMA_LIMITS
    if not low <= sigma <= high:
        raise DataError(f"fine-tuning with sigma {sigma}: expected {low:g} to {high:g}, in log units")
    names = prior.spec.theta_names
    near = [LogNormal(name, math.exp(value), sigma) for name, value in zip(names, prior.theta.tolist(), strict=True)]
    likelihood = Likelihood(prior.spec.correlation, X, y)
    return pooled.optimise([likelihood], prior.spec.bounds, [prior.theta], near)


def fit_alone(spec: ModelSpec, X: npt.ArrayLike, y: npt.ArrayLike) -> PooledOptimum:
    """The theta that fits these rows best, by L-BFGS from several starts: what a device has without a federation.

    The model's kernel and bounds are taken; its priors are not, since they are the federation's knowledge too.

    Args:
        spec: the model.
        X: inputs, shape (n, d).
        y: scaled targets, shape (n,).

    Raises:
        DataError: no rows, or values that cannot be used.
        NumericalError: no start leads to a finite value.
    """
    return pooled.optimise([Likelihood(spec.correlation, X, y)], spec.bounds, _starts(spec, X))


def _starts(spec: ModelSpec, X: npt.ArrayLike) -> list[Array]:
    """The model's start value, and others with shorter and longer scales and less noise.

    What is in a feature's unit starts from a quarter of the range that the rows have, not from the declared one.
    """
    spread = dict(zip(spec.feature_names, np.ptp(inputs(X, len(spec.features)), axis=0).tolist(), strict=True))
    log = np.log([parameter.start for parameter in spec.parameters])
    of_inputs = np.array([parameter.feature is not None for parameter in spec.parameters])
    of_noise = np.array([name == "noise sd" for name in spec.theta_names])
    for place, parameter in enumerate(spec.parameters):
        if parameter.feature is not None and spread[parameter.feature] > 0:
            log[place] = math.log(spread[parameter.feature] / 4.0)
    moved = [spec.bounds.clip(log + scale * of_inputs + noise * of_noise).theta for scale, noise in _STARTS]
    return [spec.initial_theta, *moved]
