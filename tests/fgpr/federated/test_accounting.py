"""Costs against closed forms, the exact Gaussian mechanism, and sums of discrete Gaussians convolved term by term."""

import math
from typing import Any

import dp_accounting
import numpy as np
import pytest
from scipy import special

from fgpr.errors import EncodingError, PlanRefused
from fgpr.federated import accounting
from fgpr.federated.accounting import Budget, check_budget
from fgpr.secagg.privacy import PrivacyTerms


def terms(**changes: Any) -> PrivacyTerms:
    fields: dict[str, Any] = {
        "mechanism": "distributed-discrete-gaussian",
        "origin": (0.0, -1.0, 2.0),
        "quantum": 2.0**-10,
        "clip": 1024,
        "sigma": 4096,
        "carriers": 4,
        "delta": 1e-5,
    }
    return PrivacyTerms(**(fields | changes))


def test_rho_of_a_round_with_many_quanta_is_the_gaussian_s() -> None:
    # 1 / (2 z^2), and tau below 10 exp(-2 pi^2 4096^2 / 8) = 0.
    assert accounting.rho(terms()) == 1 / 32
    assert accounting.rho(terms(carriers=1)) == 1 / 32


def test_tau_by_hand() -> None:
    assert accounting.tau(0.25, 1) == 0
    first = math.exp(-(math.pi**2) * 0.25)
    second = math.exp(-4 * math.pi**2 * 0.25 / 3)
    assert accounting.tau(0.25, 2) == pytest.approx(10 * first, rel=1e-12)
    assert accounting.tau(0.25, 3) == pytest.approx(10 * (first + second), rel=1e-12)


def test_a_coarse_grid_costs_the_tau_term() -> None:
    # s^2 = 1/2, two shares, d = 3; z = sigma / C = 1: tau = 10 exp(-pi^2 / 2).
    made = terms(clip=1, sigma=1, carriers=2)
    tau = 10 * math.exp(-(math.pi**2) / 2)
    wanted = min(0.5 + 3 * tau, (1 + math.sqrt(3) * tau) ** 2 / 2)
    assert accounting.rho(made) == pytest.approx(wanted, rel=1e-12)
    assert accounting.rho(made) > 0.5
    # Where C is small beside sigma, the additive term is the smaller one, else the other.
    wide = terms(clip=1, sigma=3, carriers=18)
    tau = accounting.tau(0.5, 18)
    assert accounting.rho(wide) == pytest.approx(
        min(1 / 18 + 3 * tau, (1 / 3 + math.sqrt(3) * tau) ** 2 / 2), rel=1e-12
    )


@pytest.mark.parametrize(("share", "carriers"), [(0.25, 2), (0.25, 5), (0.5, 3), (1.0, 4)])
def test_tau_bounds_the_distance_of_the_convolution(share: float, carriers: int) -> None:
    # The theorem's claim itself: |log P[sum = x] / P[N_Z(0, n s^2) = x]| <= tau, in floats near the middle.
    x = np.arange(-60, 61)
    one = np.exp(-(x**2) / (2 * share))
    one /= one.sum()
    total = np.array([1.0])
    for _ in range(carriers):
        total = np.convolve(total, one)
    middle = np.arange(-4, 5) + total.size // 2
    whole = np.arange(total.size) - total.size // 2
    other = np.exp(-(whole**2) / (2 * share * carriers))
    other /= other.sum()
    distance = np.abs(np.log(total[middle] / other[middle])).max()
    assert distance <= accounting.tau(share, carriers)


@pytest.mark.parametrize(("clip", "sigma", "carriers"), [(1, 1, 2), (2, 2, 3), (3, 2, 4), (1, 2, 9)])
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_rho_is_above_the_exact_renyi_divergence_of_the_convolution(
    clip: int, sigma: int, carriers: int, order: float
) -> None:
    made = terms(origin=(0.0,), clip=clip, sigma=sigma, carriers=carriers)
    x = np.arange(-40, 41)
    one = np.exp(-(x**2) / (2 * float(made.share)))
    total = np.array([1.0])
    for _ in range(carriers):
        total = np.convolve(total, one / one.sum())
    shifted = np.concatenate([np.zeros(clip), total[:-clip]])
    both = (total > 1e-200) & (shifted > 1e-200)
    logs = order * np.log(shifted[both]) + (1 - order) * np.log(total[both])
    divergence = float(special.logsumexp(logs)) / (order - 1)
    assert divergence <= accounting.rho(made) * order
    assert divergence >= 0.2 * accounting.rho(made) * order


@pytest.mark.parametrize(("multiplier", "rounds"), [(2.0, 1), (10.0, 20), (20.0, 20), (5.0, 100)])
@pytest.mark.parametrize("delta", [1e-5, 1e-8])
def test_epsilon_is_between_the_gaussian_s_exact_one_and_the_textbook_bound(
    multiplier: float, rounds: int, delta: float
) -> None:
    rho = rounds / (2 * multiplier**2)
    found = accounting.epsilon(rho, delta)
    # Balle and Wang 2018, of rounds Gaussians in one: nothing can be below it. Bun and Steinke 2016 above.
    exact = dp_accounting.get_epsilon_gaussian(multiplier / math.sqrt(rounds), delta)
    assert exact <= found <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert found <= 1.15 * exact


def test_epsilon_grows_with_rho_and_is_nothing_for_nothing() -> None:
    found = [accounting.epsilon(rho, 1e-5) for rho in (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 1e6)]
    assert found[0] == 0.0
    assert found == sorted(found)
    assert all(math.isfinite(value) for value in found)


@pytest.mark.parametrize(
    ("rho", "delta"),
    [(-1.0, 1e-5), (math.nan, 1e-5), (math.inf, 1e-5), (1.0, 0.0), (1.0, 1.0), (1.0, math.nan)],
)
def test_what_is_no_cost_is_refused(rho: float, delta: float) -> None:
    with pytest.raises(EncodingError, match="rho is finite"):
        accounting.epsilon(rho, delta)


def test_a_budget_takes_what_fits_to_the_last_digit() -> None:
    cost = accounting.epsilon(3 * accounting.rho(terms()), 1e-6)
    spent = 2 * accounting.rho(terms())
    check_budget(terms(), spent, Budget(epsilon=cost, delta=1e-6))
    check_budget(terms(), spent, Budget())
    check_budget(None, spent, Budget())
    with pytest.raises(PlanRefused) as refused:
        check_budget(terms(), spent, Budget(epsilon=math.nextafter(cost, 0), delta=1e-6))
    assert refused.value.check == 17
    before = accounting.epsilon(spent, 1e-6)
    for part in (
        f"epsilon {before:.4g} of {cost:g} at delta 1e-06",
        f"would be {cost:.4g}",
        "nothing was trained",
        "--epsilon",
    ):
        assert part in str(refused.value)


def test_a_round_without_noise_fits_no_budget() -> None:
    with pytest.raises(PlanRefused, match="check 17 of a plan: it adds no noise") as refused:
        check_budget(None, 0.0, Budget(epsilon=1e9))
    assert refused.value.check == 17


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 0.0}])
def test_a_budget_of_nothing_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Budget(**change)
