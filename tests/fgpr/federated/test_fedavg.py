import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.federated.fedavg import Contribution, uniform_average, weighted_average


def one(client: str, theta: float, weight: int) -> Contribution:
    return Contribution(client, [theta], weight)


def test_weights_are_shares_of_all_observations() -> None:
    contributions = [Contribution("a", [1.0, 10.0], 1), Contribution("b", [3.0, 30.0], 3)]
    assert weighted_average(contributions).tolist() == [2.5, 25.0]
    assert uniform_average(contributions).tolist() == [2.0, 20.0]


def test_case_c5_no_examples() -> None:
    with pytest.raises(DataError, match="no examples"):
        weighted_average([one("a", 20.0, 0), one("b", 99.0, 0)])
    with pytest.raises(DataError, match="no examples"):
        weighted_average([])
    with pytest.raises(DataError, match="no examples"):
        uniform_average([])


def test_case_c5_a_weight_of_0_leaves_a_client_out_exactly() -> None:
    assert weighted_average([one("a", 20.0, 192), one("b", 99.0, 0)]).tolist() == [20.0]


@pytest.mark.parametrize("weight", [-5, 1.5, 10**12, True, None, "3", float("nan")])
def test_case_c5_weights_that_count_nothing_are_refused(weight: int) -> None:
    with pytest.raises(DataError, match=f"weight of b is {weight}"):
        weighted_average([one("a", 20.0, 192), one("b", 99.0, weight)])


def test_case_c5_the_cap_is_configurable() -> None:
    assert weighted_average([one("a", 20.0, 10**12)], cap=10**12).tolist() == [20.0]
    with pytest.raises(DataError, match="0 to 10"):
        weighted_average([one("a", 20.0, 11)], cap=10)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_case_c6_a_theta_that_is_not_finite_is_refused_by_name(bad: float) -> None:
    contributions = [one("a", 20.0, 1), one("b", bad, 1), one("c", 40.0, 1)]
    with pytest.raises(DataError, match=r"theta of b .* position 0"):
        weighted_average(contributions)
    with pytest.raises(DataError, match="theta of b"):
        weighted_average([*contributions[:1], one("b", bad, 0)])
    assert weighted_average([contributions[0], contributions[2]]).tolist() == [30.0]


def test_thetas_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match=r"theta of b has shape \(2,\)"):
        weighted_average([Contribution("a", [1.0], 1), Contribution("b", [1.0, 2.0], 1)])
    with pytest.raises(DataError, match="one dimension"):
        weighted_average([Contribution("a", [[1.0]], 1)])


def test_clients_that_agree_have_what_they_agree_on_for_an_average() -> None:
    # 1/3 + 2/3 of a number is not always that number; a theta on its bound would leave it.
    rng = np.random.default_rng(0)
    for theta in rng.normal(size=(200, 3)):
        weights = rng.integers(0, 50, 7) + np.eye(7, dtype=int)[0]
        found = weighted_average([Contribution(str(place), theta, int(w)) for place, w in enumerate(weights)])
        assert (found == theta).all()
