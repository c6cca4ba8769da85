"""The kernel that evidence chooses is the one that made the data; evidence agrees with the definition."""

import numpy as np
import pytest
from scipy.stats import norm

from fgpr.errors import DataError
from fgpr.experiments.federations import optimum
from fgpr.experiments.generators import gaussian_process
from fgpr.experiments.models import model, predicted
from fgpr.federated.kernel_choice import Learned, chosen, leave_one_out_loss
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

TRUTH = np.log([1.0, 0.1, 0.25])


@pytest.mark.parametrize("evidence", ["likelihood", "leave-one-out"])
def test_evidence_chooses_the_kernel_that_made_the_data(evidence: str) -> None:
    rough, smooth = model(1, "matern-1/2"), model(1, "rbf")
    rng = np.random.default_rng(5)
    for truth in (rough, smooth):
        clients = gaussian_process(truth.correlation, np.log([1.0, 0.02, 0.3]), [60] * 4, 1, rng)
        found = chosen([rough, smooth], clients, optimum, evidence)  # type: ignore[arg-type]  # one of the two
        assert found.spec == truth


def test_leave_one_out_leaves_one_out() -> None:
    spec, total = model(1, "rbf"), 0.0
    (small,) = gaussian_process(spec.correlation, TRUTH, [8], 1, np.random.default_rng(3))
    for place in range(8):
        others = np.delete(np.arange(8), place)
        rest = LocalData("rest", small.X[others], small.y[others])
        mean = predicted(spec, TRUTH, rest, small.X[[place]])[0]
        gram = _covariance(small.X, small.X)
        inverse = np.linalg.inv(gram[np.ix_(others, others)] + 0.01 * np.eye(7))
        variance = gram[place, place] + 0.01 - gram[place, others] @ inverse @ gram[others, place]
        total -= norm.logpdf(small.y[place], mean, np.sqrt(variance))
    assert leave_one_out_loss(Learned(spec, TRUTH, 0.0), [small]) == pytest.approx(total / 8, rel=1e-8)


def test_an_empty_menu_no_clients_and_other_evidence_are_refused() -> None:
    spec = model(1, "rbf")
    clients = gaussian_process(spec.correlation, TRUTH, [8], 1, np.random.default_rng(3))
    with pytest.raises(DataError, match="no models"):
        chosen([], clients, optimum)
    with pytest.raises(DataError, match="expected 'likelihood' or 'leave-one-out'"):
        chosen([spec], clients, optimum, "bic")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(DataError, match="no clients"):
        leave_one_out_loss(Learned(spec, TRUTH, 0.0), [])


def _covariance(one: Array, other: Array) -> Array:
    covariance: Array = np.exp(-((one - other.T) ** 2) / (2 * 0.25**2))
    return covariance
