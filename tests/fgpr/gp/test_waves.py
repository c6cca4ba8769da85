"""The gradient of random waves against differences, and how many each term of a sum gets."""

import numpy as np
import pytest

from fgpr.errors import DataError, EncodingError
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.model import Feature
from fgpr.gp.random_features import RandomFeatures

AXES = (Feature("p", "1", -2.0, 2.0), Feature("v", "1", -1.0, 3.0), Feature("a", "1", 0.0, 5.0))
X = np.random.default_rng(7).uniform([-2.0, -1.0, 0.0], [2.0, 3.0, 5.0], (12, 3))
SUM = "matern-3/2 + 0.5 * rbf(v) + rbf(p) * linear(v, a) + matern-5/2(a) * rbf(a, p) + linear + constant"
SHARES = (0.3, 1.0, 0.7, 0.2, 0.5, 0.9)


@pytest.mark.parametrize("text", [SUM, "matern(nu=0.8)", "rbf(p) * linear(v) * linear(p, a)"])
def test_the_gradient_is_that_of_the_functions_for_the_same_draws(text: str) -> None:
    kernel = kernel_named(text, AXES)
    theta = np.random.default_rng(3).normal(0.2, 0.2, kernel.size(3))
    features = RandomFeatures.drawn(kernel, theta, 90, 2, 3)
    shares = SHARES[: len(kernel.expression.terms)]
    phi = features.at(X, shares)
    upstream = np.random.default_rng(4).normal(size=phi.shape)
    gradient, signals = features.gradient(X, phi, upstream)

    def at(point: np.ndarray) -> float:
        return float((upstream * RandomFeatures.drawn(kernel, point, 90, 2, 3).at(X, shares)).sum())

    differences = [(at(theta + step) - at(theta - step)) / 2e-5 for step in 1e-5 * np.eye(theta.size)]
    assert gradient == pytest.approx(differences, rel=1e-6, abs=1e-6)
    # All log signal sds together scale the functions, whatever is drawn; the noise has no part in them.
    assert signals.sum() == pytest.approx((upstream * phi).sum(), rel=1e-12)
    assert gradient[1] == 0.0


def test_a_rational_quadratic_has_features_and_no_gradient() -> None:
    kernel = kernel_named("rational-quadratic")
    features = RandomFeatures.drawn(kernel, np.zeros(6), 20, 0)
    phi = features.at(X)
    with pytest.raises(EncodingError, match="cannot be trained"):
        features.gradient(X, phi, np.ones_like(phi))


def test_each_term_gets_its_own_number() -> None:
    kernel = kernel_named("rbf + rbf(p) * linear(v, a) + linear(p, a)", AXES)
    features = RandomFeatures.drawn(kernel, np.zeros(kernel.size(3)), (30, 41, 7), 0)
    # 15 pairs; 10 pairs for each of two linear inputs; the linear term has as many as it has inputs.
    assert features.count == 30 + 40 + 2
    only = [(features.at(X, shares) ** 2).sum(axis=0) for shares in np.eye(3)]
    assert [int((one > 0.0).sum()) for one in only] == [30, 40, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((30, 41), "2 numbers of random features for the 3 terms"),
        ((30, 0, 4), "0 random features"),
        ((), "0 random"),
    ],
)
def test_numbers_that_cannot_be_are_refused(counts: tuple[int, ...], message: str) -> None:
    kernel = kernel_named("rbf + rbf(p) * linear(v, a) + linear(p, a)", AXES)
    with pytest.raises(DataError, match=message):
        RandomFeatures.drawn(kernel, np.zeros(kernel.size(3)), counts, 0)
