"""The two parts of a prior make the whole of it."""

import math

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.models import model
from fgpr.federated.simulation import LocalData
from fgpr.federated.split_prior import Split
from fgpr.gp.random_features import RandomFeatures

SPEC = model(2, "rbf(x1) + linear(x2)", -1.0, 1.0)
THETA = np.log([0.6, 0.2, 0.8, 1.5])
"""Signal sd and noise sd, length-scale, signal sd of the linear term."""

FEATURES = RandomFeatures.drawn(SPEC.correlation, THETA, 6001, 0)
X = np.random.default_rng(5).uniform(-1.0, 1.0, (6, 2))


def test_common_and_own_variances_add_up() -> None:
    split = Split(SPEC, THETA, (0.75, 0.36), FEATURES)
    assert np.exp(split.own_theta) == pytest.approx([0.6 * 0.5, 0.2, 0.8, 1.5 * 0.8], rel=1e-12)
    own = split.own(LocalData("none", np.empty((0, 2)), np.empty(0)), np.empty(0)).predict(X).latent_variance
    # Cosine and sine of one frequency add up to 1: the variance of an RBF's features is exact.
    whole = 0.6**2 + 1.5**2 * (X[:, 1] / 2.0) ** 2
    assert (split.common(X) ** 2).sum(axis=1) + own == pytest.approx(whole, rel=1e-10)


def test_common_covariances_are_the_shares_of_the_terms() -> None:
    phi = Split(SPEC, THETA, (0.75, 0.0), FEATURES).common(X)
    distances = (X[:, :1] - X[:, :1].T) / 0.8
    assert phi @ phi.T == pytest.approx(0.75 * 0.36 * np.exp(-0.5 * distances**2), abs=0.02)


def test_shares_that_leave_a_client_nothing_or_are_too_many_are_refused() -> None:
    for share in (1.0, -0.1, math.nan):
        with pytest.raises(DataError, match="a common share is"):
            Split(SPEC, THETA, (0.5, share), FEATURES)
    with pytest.raises(DataError, match="3 common shares for the 2 terms"):
        Split(SPEC, THETA, (0.5, 0.5, 0.5), FEATURES)
