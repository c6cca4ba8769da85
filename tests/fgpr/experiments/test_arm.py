"""The kernels of a robot arm."""

import numpy as np
import pytest

from fgpr.experiments import arm, table3
from fgpr.gp.posterior import condition


@pytest.mark.parametrize("kernel", [arm.KERNEL, arm.SHARED_KERNEL])
def test_the_last_term_alone_is_linear_in_accelerations(kernel: str) -> None:
    spec = table3.spec(kernel)
    # Without the rest, gravity and friction, twice the accelerations are twice the torque: four times its variance.
    theta = spec.initial_theta.copy()
    for place, name in enumerate(spec.theta_names):
        if name.startswith("signal sd"):
            theta[place] = 0.0 if "linear" in name else -20.0
    X = np.zeros((2, 21))
    X[0, 14:], X[1, 14:] = 1.0, 2.0
    variances = condition(spec.correlation, theta, np.full((1, 21), 2.9), np.zeros(1)).predict(X).latent_sd ** 2
    assert variances[1] == pytest.approx(4.0 * variances[0], rel=1e-3)


@pytest.mark.parametrize("kernel", [arm.KERNEL, arm.SHARED_KERNEL])
def test_terms_are_in_the_order_of_their_settings(kernel: str) -> None:
    terms = table3.spec(kernel).correlation.expression.terms
    seen = [[component.features for component in term.components] for term in terms]
    q, v, a = (tuple(f"x{place}" for place in range(first, first + 7)) for first in (1, 8, 15))
    # The rest, gravity, friction, inertia: shares and numbers of features have this order.
    assert seen == [[()], [q], [v], [q, a]]
    assert {len(arm.SHARES), len(arm.FEATURES), *(len(counts) for counts, _ in arm.STAGES)} == {len(terms)}
