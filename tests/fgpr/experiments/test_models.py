"""Models of the experiments: bounds, starts, and predictions against scikit-learn."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from fgpr.experiments.models import ADDITIVE, MENU, START_RANGES, model, predicted, starts
from fgpr.federated.simulation import LocalData


def test_the_noise_floor_is_a_variance_of_1e_4() -> None:
    spec = model(3, "rbf")
    place = spec.theta_names.index("noise sd")
    assert np.exp(2.0 * spec.bounds.lower[place]) == pytest.approx(1e-4)


def test_the_additive_kernel_has_one_rbf_an_input() -> None:
    spec = model(3, ADDITIVE)
    assert spec.kernel == "rbf + rbf(x1) + rbf(x2) + rbf(x3)"
    # One noise; four signals; three and three times one length-scales.
    assert len(spec.theta_names) == 1 + 4 + 3 + 3
    assert ADDITIVE in MENU


def test_starts_differ_in_their_lengthscales() -> None:
    found = starts(model(2, "rbf", -3.0, 3.0))
    assert [np.exp(theta[2]) for theta in found] == pytest.approx([6.0 * share for share in START_RANGES])
    assert len(starts(model(2, ADDITIVE))) == 1


def test_predictions_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    client = LocalData("one", rng.random((30, 2)), rng.normal(size=30))
    X = rng.random((7, 2))
    theta = np.log([1.3, 0.2, 0.4, 0.7])
    kernel = ConstantKernel(1.69) * RBF([0.4, 0.7])
    peer = GaussianProcessRegressor(kernel, alpha=0.04, optimizer=None).fit(client.X, client.y)
    assert predicted(model(2, "rbf"), theta, client, X) == pytest.approx(peer.predict(X), rel=1e-9)
