"""Units by definitions that stand outside of pint: the kelvin, the Rankine scale, the pound-force."""

import numpy as np
import pytest

from client_agent.own_units import convert, explain
from fgpr.errors import DataError


@pytest.mark.parametrize(
    ("own", "wanted", "given", "expected"),
    [
        ("degC", "K", [0.0, 100.0], [273.15, 373.15]),
        ("K", "degC", [0.0, 273.15], [-273.15, 0.0]),
        ("degF", "degC", [32.0, 212.0], [0.0, 100.0]),
        ("degC", "degR", [0.0, 100.0], [491.67, 671.67]),
        ("delta_degC", "delta_degF", [1.0], [1.8]),
        # 1 psi = 4.4482216152605 N / (0.0254 m)^2
        ("psi", "kPa", [1.0], [4.4482216152605 / 0.0254**2 / 1000]),
        ("kPa", "psia", [101.325], [14.695948775513]),
        ("rpm", "turn / second", [60.0], [1.0]),
        ("lb/s", "kg/s", [1.0], [0.45359237]),
        ("minute", "hour", [90.0], [1.5]),
        ("percent", "dimensionless", [12.5], [0.125]),
    ],
)
def test_conversions(own, wanted, given, expected):
    assert convert(np.array(given), "x", own, wanted) == pytest.approx(expected, rel=1e-12, abs=1e-10)


def test_the_same_text_is_never_looked_up():
    values = np.array([1.0, 2.0])
    assert convert(values, "x", "furlongs of nobody", "furlongs of nobody") is values


@pytest.mark.parametrize("own", ["degQ", "1 +", "degC degC)", "kg ** ** 2", "__import__('os')"])
def test_unknown_units_are_named(own):
    with pytest.raises(DataError, match=r"column 'T_out': no unit is known by the own name "):
        convert(np.zeros(1), "T_out", own, "K")


def test_an_unknown_unit_of_the_federation_is_named_as_such():
    with pytest.raises(DataError, match="no unit is known by the federation's name 'flight-cycles'"):
        convert(np.zeros(1), "n", "hour", "flight-cycles")


@pytest.mark.parametrize(("own", "wanted"), [("kg", "K"), ("degC", "kPa"), ("delta_degC", "kg")])
def test_units_of_other_things_are_refused_with_both_names(own, wanted):
    with pytest.raises(DataError, match=rf"column 'x': '{own}' .*cannot be converted to the federation's '{wanted}'"):
        convert(np.zeros(1), "x", own, wanted)


def test_explained():
    assert explain("degC", "K") == "degC to K: 0 becomes 273.15, 1 becomes 274.15"


@pytest.mark.parametrize(("own", "wanted"), [("rpm", "Hz"), ("Hz", "rpm"), ("cycle", "count"), ("1 / s", "rad / s")])
def test_turns_are_not_taken_for_numbers(own, wanted):
    # 60 rpm are 1 Hz; pint, which has no dimension of angles, says 6.28.
    with pytest.raises(DataError, match=rf"column 'N1': of '{own}' and the federation's '{wanted}', one counts angles"):
        convert(np.array([60.0]), "N1", own, wanted)
