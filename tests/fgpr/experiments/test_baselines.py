"""Separate, AR and Polynomial against closed forms, finite differences and NumPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fgpr.errors import DataError
from fgpr.experiments.autoregressive import CoKriging
from fgpr.experiments.federations import optimum
from fgpr.experiments.models import model
from fgpr.experiments.polynomial import OWN_DEGREES, least_squares, own_polynomial, train_polynomial
from fgpr.experiments.separate import separate
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array


def _levels(counts: tuple[int, ...], rng: np.random.Generator) -> list[LocalData]:
    """Highest level first: each is 2 times the one below plus a straight line."""
    found = []
    for level, count in enumerate(counts):
        x = rng.random((count, 1))
        power = len(counts) - 1 - level
        found.append(LocalData(f"level-{power}", x, 2.0**power * np.sin(6.0 * x[:, 0]) + power * x[:, 0]))
    return found


@pytest.fixture(scope="module")
def trained() -> CoKriging:
    return CoKriging(_levels((6, 40), np.random.default_rng(0)), np.random.default_rng(0), starts=2)


def test_co_kriging_finds_the_factor_between_levels(trained: CoKriging) -> None:
    assert trained.rho == pytest.approx([2.0], rel=0.1)
    X = np.linspace(0.05, 0.95, 50)[:, np.newaxis]
    assert trained.predict(X) == pytest.approx(2.0 * np.sin(6.0 * X[:, 0]) + X[:, 0], abs=0.15)


def test_co_krigings_gradient_is_that_of_finite_differences() -> None:
    model_of_three = CoKriging(_levels((5, 7, 9), np.random.default_rng(2)), np.random.default_rng(2), starts=1)
    rng = np.random.default_rng(3)
    for _ in range(3):
        point = rng.normal(0.0, 0.4, model_of_three.parameters.size)
        _, gradient = model_of_three.value_and_gradient(point)
        for place in range(point.size):
            step = np.zeros(point.size)
            step[place] = 1e-5
            above, below = (model_of_three.value_and_gradient(point + sign * step)[0] for sign in (1.0, -1.0))
            assert gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-7)


def test_co_krigings_likelihood_is_that_of_its_joint_normal() -> None:
    high, low = _levels((3, 4), np.random.default_rng(4))
    found = CoKriging([high, low], np.random.default_rng(4), starts=1)
    s1, n1, l1, s2, n2, l2, rho = 0.9, 0.2, 0.3, 0.5, 0.1, 0.6, 1.7
    point = np.array([*np.log([s1, n1, l1, s2, n2, l2]), rho])

    def k(a: Array, b: Array, s: float, length: float) -> Array:
        covariance: Array = s**2 * np.exp(-((a - b.T) ** 2) / (2.0 * length**2))
        return covariance

    low_low = k(low.X, low.X, s1, l1) + n1**2 * np.eye(4)
    high_high = rho**2 * k(high.X, high.X, s1, l1) + k(high.X, high.X, s2, l2) + n2**2 * np.eye(3)
    cross = rho * k(low.X, high.X, s1, l1)
    joint = np.block([[low_low, cross], [cross.T, high_high]])
    expected = -multivariate_normal(np.zeros(7), joint).logpdf(np.concatenate([low.y, high.y])) / 7
    assert found.value_and_gradient(point)[0] == pytest.approx(expected, rel=1e-7)


def test_co_kriging_predicts_by_its_joint_normal_of_three_levels() -> None:
    rng = np.random.default_rng(7)
    low, medium, high = (
        LocalData(f"{n}", x, factor * np.sin(6.0 * x[:, 0]) + slope * x[:, 0])
        for n, factor, slope in ((9, 1.0, 0.0), (7, 3.0, 1.0), (5, -1.5, 2.0))
        for x in [rng.random((n, 1))]
    )
    found = CoKriging([high, medium, low], np.random.default_rng(7), starts=1)
    signals, noises, lengths = np.exp(found.parameters[:9].reshape(3, 3).T)
    # What a level has of each d_j: f_1 = d_1, f_2 = rho_2 f_1 + d_2, f_3 = rho_3 f_2 + d_3.
    two, three = found.rho
    assert abs(two - three) > 1.0
    weights = np.array([[1.0, 0.0, 0.0], [two, 1.0, 0.0], [two * three, three, 1.0]])

    def k(a: Array, of_a: Array, b: Array, of_b: Array) -> Array:
        squares = (a - b.T) ** 2
        parts = [
            np.outer(of_a[:, j], of_b[:, j]) * signals[j] ** 2 * np.exp(-squares / (2.0 * lengths[j] ** 2))
            for j in range(3)
        ]
        covariance: Array = np.sum(parts, axis=0)
        return covariance

    level = np.repeat([0, 1, 2], (9, 7, 5))
    rows, y = (np.concatenate([getattr(one, name) for one in (low, medium, high)]) for name in ("X", "y"))
    X = np.linspace(0.0, 1.0, 11)[:, np.newaxis]
    covariance = k(rows, weights[level], rows, weights[level]) + np.diag(noises[level] ** 2)
    expected = k(X, weights[[2] * 11], rows, weights[level]) @ np.linalg.solve(covariance, y)
    assert found.predict(X) == pytest.approx(expected, abs=1e-7)


def test_co_kriging_of_one_level_is_refused() -> None:
    with pytest.raises(DataError, match="1 fidelities"):
        CoKriging(_levels((5,), np.random.default_rng(0)), np.random.default_rng(0))


def test_separate_is_at_least_as_good_as_any_of_its_starts() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((25, 2))
    client = LocalData("one", X, np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=25))
    spec = model(2, "rbf")
    found = separate(spec, client, np.random.default_rng(1))
    assert found.loss <= optimum(spec, [client]).loss + 1e-9


def test_the_polynomial_of_one_client_is_that_of_least_squares() -> None:
    x = np.linspace(0.0, 1.0, 50)
    y = 1.0 - 3.0 * x + 4.0 * x**3 + 0.1 * np.sin(40.0 * x)
    trained = train_polynomial([LocalData("one", x[:, np.newaxis], y)], 3, rounds=300)
    assert trained.predict(x[:, np.newaxis]) == pytest.approx(np.polyval(np.polyfit(x, y, 3), x), abs=1e-6)


@pytest.mark.parametrize(("rows", "power"), [(30, 2), (30, 5), (4, 1), (2, 1)])
def test_a_client_alone_takes_the_degree_that_predicts_rows_left_out(rows: int, power: int) -> None:
    rng = np.random.default_rng(rows + power)
    x = rng.uniform(size=rows)
    y = (2.0 * x - 1.0) ** power + 0.05 * rng.normal(size=rows)
    errors = {}
    for degree in [one for one in OWN_DEGREES if one + 1 < rows]:
        left_out = []
        for row in range(rows):
            kept = np.arange(rows) != row
            left_out.append(np.polyval(np.polyfit(x[kept], y[kept], degree), x[row]) - y[row])
        errors[degree] = np.mean(np.square(left_out))
    best = min(errors, key=errors.__getitem__)
    found = own_polynomial(LocalData("one", x[:, np.newaxis], y))
    assert found.coefficients.size == best + 1
    assert found.predict(x[:, np.newaxis]) == pytest.approx(np.polyval(np.polyfit(x, y, best), x), abs=1e-8)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([0.3], [5.0], 0.0),
        ([0.3, 0.3, 0.3], [1.0, 2.0, 6.0], 3.0),
        ([0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 2.0, 2.0, 9.0], 3.0),
    ],
)
def test_a_client_whose_rows_tell_no_slope_has_their_mean(x: list[float], y: list[float], expected: float) -> None:
    found = own_polynomial(LocalData("one", np.array(x)[:, np.newaxis], np.array(y)))
    assert found.predict(np.array([[0.0], [0.7]])) == pytest.approx([expected, expected])


def test_a_round_of_the_polynomial_is_the_average_of_local_descents() -> None:
    rng = np.random.default_rng(5)
    clients = [LocalData(f"{n}", rng.random((n, 1)), rng.normal(size=n)) for n in (9, 21)]
    expected = np.zeros(5)
    for _ in range(3):
        average = np.zeros(5)
        for client in clients:
            basis = np.polynomial.chebyshev.chebvander(2.0 * client.X[:, 0] - 1.0, 4)
            rate = 0.5 / np.linalg.norm(basis, 2) ** 2
            own = expected.copy()
            for _step in range(10):
                own -= rate * basis.T @ (basis @ own - client.y)
            average += client.y.size / 30 * own
        expected = average
    assert train_polynomial(clients, 4, rounds=3).coefficients == pytest.approx(expected, rel=1e-9)


def test_least_squares_of_a_federation_are_those_of_all_rows() -> None:
    x = np.linspace(0.0, 1.0, 60)
    y = np.exp(x) + np.sin(30.0 * x)
    clients = [LocalData(f"{part}", x[part::3, np.newaxis], y[part::3]) for part in range(3)]
    expected = np.polyval(np.polyfit(x, y, 5), x)
    assert least_squares(clients, 5).predict(x[:, np.newaxis]) == pytest.approx(expected, abs=1e-8)


def test_opposite_clients_average_to_nothing() -> None:
    x = np.linspace(0.0, 1.0, 40)
    clients = [LocalData(name, x[:, np.newaxis], sign * np.sin(9.0 * x)) for name, sign in (("a", 1.0), ("b", -1.0))]
    assert train_polynomial(clients, 6).predict(x[:, np.newaxis]) == pytest.approx(np.zeros(40), abs=1e-12)
