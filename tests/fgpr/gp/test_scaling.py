import numpy as np
import pytest

from fgpr.errors import DataError, NumericalError
from fgpr.gp.scaling import TargetScaling


def test_standardise_uses_the_population_sd_and_goes_back() -> None:
    scaling = TargetScaling.fit([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], "standardise")
    assert (scaling.mean, scaling.sd, scaling.constant) == (5.0, 2.0, False)
    assert scaling.to_scaled([9.0, 5.0]).tolist() == [2.0, 0.0]
    assert scaling.to_original([2.0, 0.0]).tolist() == [9.0, 5.0]
    assert scaling.variance_to_original([1.0, 0.25]).tolist() == [4.0, 1.0]


def test_none_leaves_the_target_alone() -> None:
    scaling = TargetScaling.fit([3.0, 5.0], "none")
    assert (scaling.mean, scaling.sd, scaling.constant) == (0.0, 1.0, False)
    assert TargetScaling.fit([3.0, 3.0], "none") == TargetScaling(0.0, 1.0, constant=True)


@pytest.mark.parametrize("y", [[7.0] * 30, [3.0], [518.67] * 192, [0.1] * 7])
def test_case_a2_equal_targets_are_constant_whatever_their_floating_sd(y: list[float]) -> None:
    scaling = TargetScaling.fit(y, "standardise")
    assert scaling == TargetScaling(y[0], 1.0, constant=True)
    assert scaling.to_scaled(y).tolist() == [0.0] * len(y)


def test_equal_floats_can_have_a_spread() -> None:
    assert np.full(7, 0.1).std() > 0, "the reason for testing max == min"


def test_bad_targets_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        TargetScaling.fit([], "standardise")
    with pytest.raises(DataError, match="row 2"):
        TargetScaling.fit([1.0, np.nan], "standardise")
    with pytest.raises(NumericalError, match="standardised"):
        TargetScaling.fit([-1e308, 1e308], "standardise")


def test_units_in_which_a_result_overflows_are_an_error() -> None:
    scaling = TargetScaling(0.0, 1e308, constant=False)
    with pytest.raises(NumericalError, match="variances in the target's units overflow"):
        scaling.variance_to_original(1.0)
    with pytest.raises(NumericalError, match="means in the target's units overflow"):
        scaling.to_original([1.0, 10.0])
    with pytest.raises(NumericalError, match="targets in scaled units overflow"):
        TargetScaling(0.0, 1e-300, constant=False).to_scaled([1e300])
