import numpy as np
import pytest

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array
from fgpr.gp.optimisers import Adam, Optimiser, Sgd, decayed, limited, minimise, start


@pytest.mark.parametrize(("step", "rate"), [(0, 0.8), (1, 0.4), (3, 0.2)])
def test_the_rate_decays_as_in_the_paper(step: int, rate: float) -> None:
    assert decayed(0.8, 1.0, step) == pytest.approx(rate)


def test_sgd_goes_against_the_gradient_at_its_rate() -> None:
    theta, state = Sgd(0.5, decay=1.0).step(np.array([1.0, 2.0]), np.array([1.0, -2.0]), start(2))
    assert theta.tolist() == [0.5, 3.0]
    theta, state = Sgd(0.5, decay=1.0).step(theta, np.array([1.0, 0.0]), state)
    assert theta.tolist() == [0.25, 3.0]
    assert state.step == 2


def test_a_schedule_can_run_on_from_an_earlier_round() -> None:
    for optimiser in (Sgd(0.8, 1.0, first_step=3), Adam(0.8, 1.0, first_step=3, epsilon=0.0)):
        theta, _ = optimiser.step(np.zeros(1), np.ones(1), start(1))
        assert theta[0] == pytest.approx(-0.2)


def test_adam_by_hand() -> None:
    # Gradients 2 and then -1. Step 1: both corrected moments are g and g^2, so the step is the rate.
    # Step 2: m = .9 * .2 - .1 = .08, corrected / .19; v = .999 * .004 + .001 = .004996, corrected / .001999.
    adam = Adam(0.1, epsilon=0.0)
    theta, state = adam.step(np.zeros(1), np.array([2.0]), start(1))
    assert theta[0] == pytest.approx(-0.1, rel=1e-14)
    theta, _ = adam.step(theta, np.array([-1.0]), state)
    assert theta[0] == pytest.approx(-0.1 - 0.1 * (0.08 / 0.19) / np.sqrt(0.004996 / 0.001999), rel=1e-12)


def test_adam_stays_where_the_gradient_is_0() -> None:
    theta, _ = Adam(0.1).step(np.array([3.0]), np.zeros(1), start(1))
    assert theta.tolist() == [3.0]


@pytest.mark.parametrize("optimiser", [Sgd(0.1), Adam(0.1)])
def test_steps_change_no_argument(optimiser: Optimiser) -> None:
    theta, gradient, state = np.ones(2), np.ones(2), start(2)
    optimiser.step(theta, gradient, state)
    assert theta.tolist() == gradient.tolist() == [1.0, 1.0]
    assert state.mean.tolist() == state.square.tolist() == [0.0, 0.0]


def test_a_gradient_is_shortened_and_keeps_its_direction() -> None:
    gradient = np.array([3.0, -4.0])
    assert limited(gradient, None).tolist() == limited(gradient, 5.0).tolist() == [3.0, -4.0]
    np.testing.assert_allclose(limited(gradient, 1.0), [0.6, -0.8], rtol=1e-15)


def rosenbrock(point: Array) -> tuple[float, Array]:
    x, y = point
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2, np.array([2 * x - 2 - 400 * x * (y - x * x), 200 * (y - x * x)])


def test_l_bfgs_finds_a_minimum_inside_a_box_and_on_its_edge() -> None:
    found = minimise(rosenbrock, np.array([-1.2, 1.0]), np.full(2, -2.0), np.full(2, 2.0), 200)
    np.testing.assert_allclose(found.theta, [1.0, 1.0], rtol=0, atol=1e-5)
    assert found.converged
    assert found.path[0] == rosenbrock(np.array([-1.2, 1.0]))[0]
    assert found.path[-1] == pytest.approx(found.value)
    edge = minimise(rosenbrock, np.array([-1.2, 1.0]), np.full(2, -2.0), np.array([0.5, 2.0]), 200)
    np.testing.assert_allclose(edge.theta, [0.5, 0.25], rtol=0, atol=1e-5)
    still = minimise(rosenbrock, np.array([-1.2, 1.0]), np.array([-1.2, -2.0]), np.array([-1.2, 2.0]), 200)
    np.testing.assert_allclose(still.theta, [-1.2, 1.44], rtol=0, atol=1e-5)


def test_l_bfgs_makes_no_more_iterations_than_allowed() -> None:
    found = minimise(rosenbrock, np.array([-1.2, 1.0]), np.full(2, -2.0), np.full(2, 2.0), 3)
    assert len(found.path) == 4
    assert not found.converged


def test_a_numerical_error_on_the_way_ends_at_the_best_point_and_at_the_start_is_raised() -> None:
    allowed = 10

    def breaks(point: Array) -> tuple[float, Array]:
        nonlocal allowed
        allowed -= 1
        if allowed < 0:
            raise NumericalError("no value here")
        return rosenbrock(point)

    begin = np.array([-1.2, 1.0])
    found = minimise(breaks, begin, np.full(2, -2.0), np.full(2, 2.0), 200)
    assert (found.converged, found.message) == (False, "no value here")
    assert found.value == rosenbrock(found.theta)[0] < rosenbrock(begin)[0]
    with pytest.raises(NumericalError, match="no value here"):
        minimise(breaks, begin, np.full(2, -2.0), np.full(2, 2.0), 200)
