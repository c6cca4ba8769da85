"""Synthetic turbofan engines, so that a federation can be shown without any data file.

SYNTHETIC: no row here was measured, and none comes from NASA's files. The generator imitates the part FD001 of
C-MAPSS (A. Saxena and K. Goebel, 2008, "Turbofan Engine Degradation Simulation Data Set", NASA Ames Prognostics
Data Repository; Saxena, Goebel, Simon and Eklund, 2008, "Damage Propagation Modeling for Aircraft Engine
Run-to-Failure Simulation"), which is itself a simulation. Imitated are the shapes that matter to a regression on
cycles: an engine starts with an unknown initial wear, stays healthy for a while, wears faster and faster, and is
out of service when the wear reaches a limit; each sensor follows the wear and carries noise. Levels and noise are
rounded from FD001, so that the noise is 0.4 to 0.7 of a sensor's standard deviation over one life, as there. Not
imitated: operating settings, several regimes or fault modes, correlated noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgpr.errors import DataError

FloatArray = NDArray[np.float64]

SHORTEST_LIFE = 130
LONGEST_LIFE = 350


@dataclass(frozen=True)
class Sensor:
    """How one sensor answers to wear.

    Attributes:
        healthy: level at no wear, in the sensor's unit.
        change: what the level gains from no wear to the end of life.
        noise: standard deviation of the noise.
        decimals: digits kept after the point, as in the files imitated.
    """

    healthy: float
    change: float
    noise: float
    decimals: int


SENSORS = {
    "s2": Sensor(healthy=642.36, change=1.40, noise=0.30, decimals=2),  # T24, degrees Rankine
    "s3": Sensor(healthy=1586.7, change=16.5, noise=4.0, decimals=2),  # T30, degrees Rankine
    "s4": Sensor(healthy=1402.5, change=27.5, noise=4.0, decimals=2),  # T50, degrees Rankine
    "s7": Sensor(healthy=553.97, change=-2.65, noise=0.41, decimals=2),  # P30, psia
    "s11": Sensor(healthy=47.345, change=0.84, noise=0.10, decimals=2),  # Ps30, psia
    "s12": Sensor(healthy=521.93, change=-2.25, noise=0.30, decimals=2),  # phi, pps/psi
    "s15": Sensor(healthy=8.4174, change=0.108, noise=0.020, decimals=4),  # BPR
    "s21": Sensor(healthy=23.362, change=-0.31, noise=0.060, decimals=4),  # W32, lbm/s
}


def engines(count: int, rng: np.random.Generator) -> list[dict[str, FloatArray]]:
    """Complete lives of `count` engines.

    One generator state gives one fleet, and a larger `count` only adds engines to it.

    Args:
        count: number of engines, at least 1.
        rng: source of all randomness.

    Returns:
        For each engine its columns by C-MAPSS name: unit (1, 2, ...), cycle (1 to the last), and those of `SENSORS`,
        each of shape (cycles,).

    Raises:
        DataError: `count` is below 1.
    """
    if count < 1:
        raise DataError(f"{count} engines asked for; at least 1 is needed")
    return [_engine(unit, rng) for unit in range(1, count + 1)]


def _engine(unit: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    life = int(np.clip(np.rint(rng.lognormal(np.log(200.0), 0.21)), SHORTEST_LIFE, LONGEST_LIFE))
    cycles = np.arange(1, life + 1, dtype=np.float64)
    initial = rng.normal(0.0, 0.16)
    limit = rng.normal(1.0, 0.05)
    wear = initial + (limit - initial) * _progress(cycles / life, rng.uniform(0.1, 0.3), rng.uniform(2.4, 3.6))
    columns = {"unit": np.full(life, float(unit)), "cycle": cycles}
    for name, sensor in SENSORS.items():
        level = sensor.healthy + sensor.change * wear + rng.normal(0.0, sensor.noise, life)
        columns[name] = np.round(level, sensor.decimals)
    return columns


def _progress(age: FloatArray, onset: float, rate: float) -> FloatArray:
    # 0 until `onset`, then exponential growth, the form of Saxena et al. (2008), up to exactly 1 at the end of life.
    since = np.clip((age - onset) / (1.0 - onset), 0.0, 1.0)
    grown: FloatArray = np.expm1(rate * since) / np.expm1(rate)
    return grown
