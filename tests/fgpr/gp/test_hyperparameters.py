import math

import numpy as np
import pytest

from fgpr.errors import EncodingError, NumericalError
from fgpr.gp.hyperparameters import Bounds, Hyperparameters, check_theta, theta_names

BOUNDS = Bounds.from_natural(theta_names(["x"]), [0.01, 0.01, 0.1], [100.0, 10.0, 50.0])


def test_the_wire_order_is_signal_noise_lengthscales_in_logs() -> None:
    theta = Hyperparameters(2.0, 0.5, (3.0, 7.0)).theta
    assert theta.tolist() == [math.log(2.0), math.log(0.5), math.log(3.0), math.log(7.0)]
    assert theta_names(["a", "b"]) == ("signal sd", "noise sd", "length-scale of a", "length-scale of b")


def test_theta_and_natural_values_are_inverse() -> None:
    theta = np.array([0.3, -1.2, 2.0, -0.7])
    np.testing.assert_allclose(Hyperparameters.from_theta(theta, 2).theta, theta, rtol=0, atol=1e-15)


def test_case_f3_a_scalar_is_isotropic_and_a_list_has_to_fit() -> None:
    assert Hyperparameters.for_features(3, 1.0, 0.1, 2.0).lengthscales == (2.0, 2.0, 2.0)
    assert Hyperparameters.for_features(2, 1.0, 0.1, [1.0, 2.0]).lengthscales == (1.0, 2.0)
    with pytest.raises(EncodingError, match="2 length-scales for 3 features"):
        Hyperparameters.for_features(3, 1.0, 0.1, [1.0, 1.0])
    with pytest.raises(EncodingError, match="1 length-scales for 3 features"):
        Hyperparameters.for_features(3, 1.0, 0.1, [1.0])


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_values_that_are_no_scales_are_refused_by_name(bad: float) -> None:
    with pytest.raises(EncodingError, match="signal sd"):
        Hyperparameters(bad, 1.0, (1.0,))
    with pytest.raises(EncodingError, match="noise sd"):
        Hyperparameters(1.0, bad, (1.0,))
    with pytest.raises(EncodingError, match="length-scale of 2"):
        Hyperparameters(1.0, 1.0, (1.0, bad))
    with pytest.raises(EncodingError, match="no length-scale"):
        Hyperparameters(1.0, 1.0, ())


@pytest.mark.parametrize("bad", [1e308, -1e308, 151.0, math.nan, math.inf])
def test_case_c6_a_theta_whose_exponential_overflows_is_refused(bad: float) -> None:
    with pytest.raises(NumericalError, match="log noise sd"):
        Hyperparameters.from_theta([0.0, bad, 0.0])


def test_a_theta_of_another_length_is_refused() -> None:
    with pytest.raises(EncodingError, match="3 length-scales, the inputs have 2 features"):
        check_theta(np.zeros(5), 2)
    with pytest.raises(EncodingError, match="shape"):
        check_theta(np.zeros(2))
    with pytest.raises(EncodingError, match="shape"):
        check_theta(np.zeros((2, 2)))


def test_clip_moves_to_the_nearest_bound_and_names_it() -> None:
    clipped = BOUNDS.clip([0.0, math.log(20.0), math.log(0.01)])
    np.testing.assert_allclose(np.exp(clipped.theta), [1.0, 10.0, 0.1])
    assert clipped.names == ("noise sd", "length-scale of x")
    inside = BOUNDS.clip([0.0, 0.0, 0.0])
    assert inside.names == ()
    assert inside.theta.tolist() == [0.0, 0.0, 0.0]


def test_check_takes_the_bounds_themselves_and_nothing_beyond() -> None:
    BOUNDS.check(BOUNDS.lower)
    BOUNDS.check(BOUNDS.upper)
    with pytest.raises(EncodingError, match=r"length-scale of x .* outside 0.1 to 50"):
        BOUNDS.check([0.0, 0.0, math.log(51.0)])
    with pytest.raises(EncodingError, match="3 hyper-parameters"):
        BOUNDS.check([0.0, 0.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bounds_refuse_a_theta_that_is_not_finite(bad: float) -> None:
    with pytest.raises(NumericalError, match="log signal sd"):
        BOUNDS.check([bad, 0.0, 0.0])
    with pytest.raises(NumericalError, match="log signal sd"):
        BOUNDS.clip([bad, 0.0, 0.0])


@pytest.mark.parametrize(
    ("names", "lower", "upper", "says"),
    [
        (("a", "b"), (0.0,), (1.0, 1.0), "2 names, 1 lower"),
        (("a", "a"), (0.0, 0.0), (1.0, 1.0), "repeated"),
        (("a",), (1.0,), (1.0,), "not below"),
        (("a",), (2.0,), (1.0,), "not below"),
        (("a",), (math.nan,), (1.0,), "within"),
        (("a",), (0.0,), (math.inf,), "within"),
        (("a",), (0.0,), (200.0,), "within"),
    ],
)
def test_bounds_that_make_no_box_are_refused(
    names: tuple[str, ...], lower: tuple[float, ...], upper: tuple[float, ...], says: str
) -> None:
    with pytest.raises(EncodingError, match=says):
        Bounds(names, lower, upper)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_natural_bounds_are_above_0(bad: float) -> None:
    with pytest.raises(EncodingError, match="not above 0"):
        Bounds.from_natural(["a"], [bad], [1.0])
