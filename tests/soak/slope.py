"""The slope of a series, by least squares, with a standard error that does not take neighbours for strangers."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Slope:
    """A slope by step of a series.

    Attributes:
        value: of the unit of the series, for each step.
        error: its standard error.
    """

    value: float
    error: float

    @property
    def is_flat(self) -> bool:
        """Whether it cannot be told from 0: within two standard errors."""
        return abs(self.value) <= 2 * self.error


def slope(series: "np.ndarray | list[float]") -> Slope:
    """The slope of a series with one value for each step.

    The residuals' lag-1 autocorrelation r widens the error by sqrt((1 + r) / (1 - r)), as for a first-order
    autoregression (Bence 1995, Ecology 76, 628-639).

    Args:
        series: at least 8 values.
    """
    y = np.asarray(series, dtype=float)
    x = np.arange(len(y)) - (len(y) - 1) / 2
    value = float(x @ y / (x @ x))
    residual = y - y.mean() - value * x
    error = float(np.sqrt(residual @ residual / (len(y) - 2) / (x @ x)))
    power = float(residual @ residual)
    r = 0.0 if power == 0 else float(np.clip(residual[1:] @ residual[:-1] / power, 0.0, 0.99))
    return Slope(value, error * float(np.sqrt((1 + r) / (1 - r))))
