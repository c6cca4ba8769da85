"""The synthetic fleet against what is known of C-MAPSS FD001 (numbers measured on the real file)."""

import numpy as np
import pytest

from demo import turbofan
from fgpr.errors import DataError

# Noise over total standard deviation within one engine's life, mean over FD001's 100 engines, the noise being what a
# polynomial of degree 5 leaves.
FD001_NOISE_SHARE = {
    "s2": 0.658,
    "s3": 0.697,
    "s4": 0.502,
    "s7": 0.530,
    "s11": 0.437,
    "s12": 0.479,
    "s15": 0.589,
    "s21": 0.610,
}


def fleet(count=100, seed=7):
    return turbofan.engines(count, np.random.default_rng(seed))


def smooth(values):
    return np.polynomial.Polynomial.fit(np.linspace(0.0, 1.0, len(values)), values, 5)


def test_columns_and_order():
    for number, engine in enumerate(fleet(5), start=1):
        assert list(engine)[:2] == ["unit", "cycle"]
        assert {"s2", "s4", "s7"} <= set(engine)
        life = len(engine["cycle"])
        assert engine["cycle"].tolist() == list(range(1, life + 1))
        assert engine["unit"].tolist() == [number] * life
        assert all(column.shape == (life,) and np.isfinite(column).all() for column in engine.values())


def test_lives_are_those_of_fd001():
    lives = [len(engine["cycle"]) for engine in fleet(400)]
    assert min(lives) >= 130
    assert max(lives) <= 350
    # FD001: quartiles 177, 199, 229.
    assert np.percentile(lives, [25, 50, 75]) == pytest.approx([177, 199, 229], rel=0.06)


@pytest.mark.parametrize("sensor", sorted(FD001_NOISE_SHARE))
def test_signal_to_noise_is_that_of_fd001(sensor):
    shares = []
    for engine in fleet():
        values = engine[sensor]
        rest = values - smooth(values)(np.linspace(0.0, 1.0, len(values)))
        shares.append(np.sqrt(np.sum(rest**2) / (len(values) - 6)) / values.std())
    assert np.mean(shares) == pytest.approx(FD001_NOISE_SHARE[sensor], abs=0.05)


@pytest.mark.parametrize(("sensor", "direction"), [("s2", 1), ("s4", 1), ("s7", -1)])
def test_healthy_plateau_then_accelerating_wear(sensor, direction):
    rises = []
    for engine in fleet():
        curve = direction * smooth(engine[sensor])(np.array([0.05, 0.5, 0.95]))
        rises.append([curve[1] - curve[0], curve[2] - curve[1]])
    early, late = np.mean(rises, axis=0)
    # FD001 makes 0.13 of its change in the first half of life.
    assert late > 3 * early > 0
    assert all(rise[1] > rise[0] for rise in rises)


def test_engines_differ_in_initial_wear_and_rate():
    starts = [engine["s4"][:20].mean() for engine in fleet()]
    # FD001: sd 4.4 of the healthy level of s4 over engines, of which the noise of a mean of 20 gives 0.9.
    assert np.std(starts) == pytest.approx(4.4, rel=0.25)


def test_a_seed_gives_one_fleet_and_more_engines_only_extend_it():
    small, large, other = fleet(3), fleet(6), fleet(3, seed=8)
    for ours, theirs in zip(small, large[:3], strict=True):
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert not np.array_equal(small[0]["s2"][:100], other[0]["s2"][:100])


def test_cells_have_the_decimals_of_the_files_imitated():
    engine = fleet(1)[0]
    assert np.array_equal(engine["s2"], np.round(engine["s2"], 2))
    assert np.array_equal(engine["s15"], np.round(engine["s15"], 4))


@pytest.mark.parametrize("count", [0, -1])
def test_refuses_no_engines(count):
    with pytest.raises(DataError, match="at least 1"):
        turbofan.engines(count, np.random.default_rng(0))
