import numpy as np
import pytest

from fgpr.gp.informed import MIN_INFORMATION, uninformed
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood

RBF = kernel_named("rbf")


def curve(rows: int) -> Likelihood:
    x = np.linspace(0, 10, rows)
    return Likelihood(RBF, np.column_stack([x, np.full(rows, 3.0)]), np.sin(x))


@pytest.mark.parametrize("rows", [5, 32, 33, 600])
def test_an_input_that_never_changes_is_not_informed_whatever_the_size(rows: int) -> None:
    likelihood = curve(rows)
    marks = uninformed(likelihood, rows, np.log([1.0, 0.5, 1.0, 1.0]), np.zeros(4))
    assert marks.tolist() == [False, False, False, True]
    assert likelihood.rows == rows


def test_rows_that_a_first_look_leaves_out_are_asked_before_a_verdict() -> None:
    """Pairs 0.1 apart inform a length-scale of 0.1; 32 rows, evenly spread, miss them."""
    x = np.sort(np.concatenate([np.arange(200.0), np.arange(200.0) + 0.1]))
    theta = np.log([1.0, 0.1, 0.1])
    first = Likelihood(RBF, x[np.linspace(0, 399, 32).astype(int)], np.zeros(32)).curvature(theta).information[2, 2]
    whole = Likelihood(RBF, x, np.zeros(400)).curvature(theta).information[2, 2]
    assert first < MIN_INFORMATION < whole
    assert not uninformed(Likelihood(RBF, x, np.zeros(400)), 400, theta, np.zeros(3)).any()


def test_a_prior_counts_as_information() -> None:
    theta = np.log([1.0, 0.1, 1.0, 1.0])
    more = np.array([0.0, 0.0, 0.0, MIN_INFORMATION])
    assert not uninformed(curve(20), 20, theta, more).any()
