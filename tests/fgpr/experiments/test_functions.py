"""The test functions against what others published of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from fgpr.experiments import functions

MF2 = json.loads((Path(__file__).parents[2] / "vectors" / "mf2.json").read_text())
"""Values of the package mf2 (tests/vectors/SOURCES.md)."""


@pytest.mark.parametrize("name", ["currin", "currin_low", "park", "park_low", "borehole"])
def test_values_are_those_of_mf2(name: str) -> None:
    vector = MF2[name]
    found = getattr(functions, name)(np.array(vector["X"]))
    assert found == pytest.approx(vector["y"], rel=1e-12)


def test_the_low_borehole_is_that_of_mf2_times_pi() -> None:
    vector = MF2["borehole_low"]
    assert functions.borehole_low(np.array(vector["X"])) == pytest.approx(np.pi * np.array(vector["y"]), rel=1e-12)


def test_branin_has_its_three_published_minima() -> None:
    minima = np.array([[-np.pi, 12.275], [np.pi, 2.275], [9.42478, 2.475]])
    assert functions.branin(minima) == pytest.approx(0.397887, abs=2e-6)


def test_branin_of_lower_fidelities_by_hand() -> None:
    # At (pi + 2, 4.275) the shifted high fidelity is at its minimum.
    X = np.array([[np.pi + 2.0, 4.275]])
    expected = 10.0 * np.sqrt(0.3978873577) + 2.0 * (np.pi + 1.5) - 3.0 * (3.0 * 4.275 - 1.0) - 1.0
    assert functions.branin_medium(X) == pytest.approx(expected, rel=1e-7)
    back = X / 1.2 - 2.0
    assert functions.branin_low(back) == pytest.approx(expected - 3.0 * back[0, 1] + 1.0, rel=1e-7)


def test_hartmann_has_its_published_extremum() -> None:
    X = np.array([[0.114614, 0.555649, 0.852547]])
    assert functions.hartmann(X) == pytest.approx(3.86278, abs=1e-5)
    # Each level down moves the weights by the same delta.
    terms = [float(functions.hartmann(X, fidelity)[0] - functions.hartmann(X, fidelity + 1)[0]) for fidelity in (1, 2)]
    assert terms[0] == pytest.approx(terms[1], rel=1e-9)


def test_limits_at_the_edge_of_the_domain() -> None:
    at, near = np.array([[0.3, 0.0]]), np.array([[0.3, 1e-4]])
    assert functions.currin(at) == pytest.approx(functions.currin(near), rel=1e-12)
    assert functions.currin_low(at)[0] > 0.0
    edge, close = np.array([[0.0, 0.4, 0.5, 0.6]]), np.array([[1e-9, 0.4, 0.5, 0.6]])
    assert functions.park(edge) == pytest.approx(functions.park(close), rel=1e-7)
    first = np.sqrt((0.4 + 0.25) * 0.6) / 2.0
    assert functions.park(edge)[0] == pytest.approx(first + 1.8 * np.exp(1.0 + np.sin(0.5)), rel=1e-12)


def test_the_two_examples_of_one_input() -> None:
    # Forrester's function has its minimum -6.02074 at 0.757249.
    assert functions.linear(np.array([[0.757249]])) == pytest.approx(-6.020740, abs=1e-6)
    assert functions.linear_low(np.array([[0.5]])) == pytest.approx(0.5 * np.sin(2.0) + 5.0, rel=1e-12)
    x = np.pi / 30.0 + 0.1  # where 15 (2 x - 0.2) is pi
    assert functions.nonlinear(np.array([[x]])) == pytest.approx(x * np.exp(-1.0) - 1.0, rel=1e-12)
    assert functions.nonlinear_low(np.array([[0.0]])) == pytest.approx(1.0)
