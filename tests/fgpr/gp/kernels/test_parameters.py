import pytest

from fgpr.errors import EncodingError
from fgpr.gp.kernels.parameters import Parameter, parameters
from fgpr.gp.kernels.parsing import parse
from support.kernels import axes


def test_start_values_and_bounds_of_one_kernel() -> None:
    assert parameters(parse("rbf"), axes(2)) == (
        Parameter("signal sd", 1.0, 0.01, 100.0, of_target=True),
        Parameter("noise sd", 0.5, 0.01, 10.0, of_target=True),
        Parameter("length-scale of x1", 0.25, 0.001, 100.0, "x1"),
        Parameter("length-scale of x2", 0.5, 0.002, 200.0, "x2"),
    )


def test_numbers_in_the_text_are_start_values() -> None:
    ours = parameters(parse("2 * periodic(x2, length-scale=3, period=0.7) + rational-quadratic(x1, alpha=4)"), axes(2))
    assert ours == (
        Parameter("signal sd of periodic", 2.0, 0.01, 100.0, of_target=True),
        Parameter("noise sd", 0.5, 0.01, 10.0, of_target=True),
        Parameter("length-scale of x2 in periodic", 3.0, 0.01, 100.0),
        Parameter("period of x2 in periodic", 0.7, 0.02, 4.0, "x2"),
        Parameter("signal sd of rational-quadratic", 1.0, 0.01, 100.0, of_target=True),
        Parameter("length-scale of x1 in rational-quadratic", 0.25, 0.001, 100.0, "x1"),
        Parameter("alpha in rational-quadratic", 4.0, 0.01, 1000.0),
    )
    given = parameters(parse("2 * periodic(x2, length-scale=3, period=0.7)"), axes(2), given_only=True)
    assert [parameter.start for parameter in given] == [2.0, 3.0, 0.7]


def test_a_fixed_number_is_no_hyper_parameter() -> None:
    assert [p.name for p in parameters(parse("matern(x1, nu=0.7)"), axes(2))] == [
        "signal sd",
        "noise sd",
        "length-scale of x1",
    ]


def test_a_feature_that_there_is_not() -> None:
    with pytest.raises(EncodingError, match=r"rbf\(x3\): there is no feature 'x3'; there are x1, x2"):
        parameters(parse("rbf(x1) + rbf(x3)"), axes(2))
