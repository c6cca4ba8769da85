"""Hyper-parameters in natural units, and as the vector `theta` that is trained, averaged and sent.

There is one order everywhere, the wire order: [log signal sd, log noise sd, log length-scale of feature 1, ...]; that
of sums and products, in `fgpr.gp.kernels.parameters`, begins with a signal and the noise too. Signal and noise are
standard deviations, never variances. The log makes every average positive: federated averaging of theta is a geometric
mean of the natural values.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.arrays import Array, floats
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.record import Record

SIGNAL = 0
NOISE = 1
LENGTHSCALES = slice(2, None)

LOG_LIMIT = 150.0
"""Largest magnitude of an entry of theta: beyond it, squares and quotients of the natural values overflow."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Natural values.

    Attributes:
        signal_sd: standard deviation of the function, in units of the (scaled) target.
        noise_sd: standard deviation of the noise, in the same units.
        lengthscales: one a feature, in the feature's units.
    """

    signal_sd: float
    noise_sd: float
    lengthscales: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.lengthscales:
            raise EncodingError("no length-scale: a model has at least one feature")
        for name, value in zip(theta_names(len(self.lengthscales)), self._values(), strict=True):
            if not (math.isfinite(value) and value > 0):
                raise EncodingError(f"{name} is {value}: expected a finite number above 0")

    @classmethod
    def for_features(
        cls, features: int, signal_sd: float, noise_sd: float, lengthscales: float | Sequence[float]
    ) -> Self:
        """Values for a model with that many features.

        Args:
            features: d.
            signal_sd: as in the class.
            noise_sd: as in the class.
            lengthscales: a single number is used for every feature; a sequence has exactly d numbers.

        Raises:
            EncodingError: a sequence of another length (both lengths are named), or a value not above 0.
        """
        if isinstance(lengthscales, int | float):
            return cls(signal_sd, noise_sd, (float(lengthscales),) * features)
        if len(lengthscales) != features:
            raise EncodingError(f"{len(lengthscales)} length-scales for {features} features")
        return cls(signal_sd, noise_sd, tuple(float(value) for value in lengthscales))

    @classmethod
    def from_theta(cls, theta: npt.ArrayLike, features: int | None = None) -> Self:
        """The natural values of a vector in the wire order, of shape (d + 2,).

        Raises:
            EncodingError: the vector has another length.
            NumericalError: an entry is not finite or too large to be a logarithm.
        """
        checked = check_theta(theta, features)
        signal_sd, noise_sd, *lengthscales = np.exp(checked).tolist()
        return cls(signal_sd, noise_sd, tuple(lengthscales))

    @property
    def theta(self) -> Array:
        """The vector in the wire order, of shape (d + 2,)."""
        theta: Array = np.log(np.array(self._values()))
        return theta

    def _values(self) -> tuple[float, ...]:
        return (self.signal_sd, self.noise_sd, *self.lengthscales)


class Clipped(NamedTuple):
    """A theta inside its bounds, and the names of the entries that had to be moved."""

    theta: Array
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bounds(Record):
    """The box that theta stays in: part of the model, the same for every client.

    Attributes:
        names: what each entry is, in the wire order.
        lower: least values, in log space.
        upper: largest values, in log space.
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.lower) == len(self.upper):
            raise EncodingError(
                f"bounds: {len(self.names)} names, {len(self.lower)} lower and {len(self.upper)} upper values"
            )
        if len(set(self.names)) != len(self.names):
            raise EncodingError("bounds: a name is repeated")
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if not (math.isfinite(low) and math.isfinite(high)) or max(abs(low), abs(high)) > LOG_LIMIT:
                raise EncodingError(f"bounds of {name}: {low} and {high} have to be within +-{LOG_LIMIT} in log space")
            if low >= high:
                raise EncodingError(f"bounds of {name}: the lower one, {low}, is not below the upper one, {high}")

    @classmethod
    def from_natural(cls, names: Sequence[str], lower: Sequence[float], upper: Sequence[float]) -> Self:
        """Bounds given in natural units.

        Raises:
            EncodingError: as the constructor; also where a bound is not above 0.
        """
        for value in (*lower, *upper):
            if not value > 0:
                raise EncodingError(f"bounds: {value} is not above 0")
        return cls(tuple(names), tuple(map(math.log, lower)), tuple(map(math.log, upper)))

    def check(self, theta: npt.ArrayLike) -> None:
        """Nothing, if theta is inside.

        Raises:
            NumericalError: an entry is not finite.
            EncodingError: another length, or an entry outside; names it with its natural value and bounds.
        """
        vector = self._finite(theta)
        for name, value, low, high in zip(self.names, vector.tolist(), self.lower, self.upper, strict=True):
            if not low <= value <= high:
                raise EncodingError(f"{name} is exp({value:.6g}), outside {math.exp(low):.6g} to {math.exp(high):.6g}")

    def clip(self, theta: npt.ArrayLike) -> Clipped:
        """The nearest theta inside, with the names of what was moved.

        Raises:
            NumericalError: an entry is not finite.
            EncodingError: another length.
        """
        vector = self._finite(theta)
        inside = np.clip(vector, self.lower, self.upper)
        return Clipped(inside, tuple(self.names[index] for index in np.flatnonzero(inside != vector)))

    def _finite(self, theta: npt.ArrayLike) -> Array:
        vector = logs(theta)
        if vector.shape != (len(self.names),):
            raise EncodingError(f"theta has shape {vector.shape}, the model has {len(self.names)} hyper-parameters")
        if not np.isfinite(vector).all():
            index = int(np.argmin(np.isfinite(vector)))
            raise NumericalError(f"log {self.names[index]} is {vector[index]}: not a finite number")
        return vector


def theta_names(features: int | Sequence[str]) -> tuple[str, ...]:
    """Names of the entries of theta, for d features or for features with these names."""
    known = [str(number) for number in range(1, features + 1)] if isinstance(features, int) else features
    return ("signal sd", "noise sd", *(f"length-scale of {feature}" for feature in known))


def logs(theta: npt.ArrayLike) -> Array:
    """Theta, or one a row, as an array of doubles; not copied where it is one.

    Raises:
        EncodingError: not numbers, or rows of unequal length.
    """
    try:
        return floats(theta, "entries of theta")
    except DataError as error:
        raise EncodingError(str(error)) from error


def check_theta(theta: npt.ArrayLike, features: int | None = None) -> Array:
    """Theta of one ARD kernel as an array of shape (d + 2,), each entry finite and within +-`LOG_LIMIT`.

    Raises:
        EncodingError: another shape.
        NumericalError: an entry whose exponential would overflow or vanish; names it.
    """
    vector = logs(theta)
    if vector.ndim != 1 or vector.size < 3:
        raise EncodingError(f"theta has shape {vector.shape}: expected signal, noise and one length-scale a feature")
    if features is not None and vector.size != features + 2:
        raise EncodingError(f"theta has {vector.size - 2} length-scales, the inputs have {features} features")
    _check_logs(vector, lambda: theta_names(vector.size - 2))
    return vector


def check_theta_of(kernel: Kernel, theta: npt.ArrayLike, features: int) -> Array:
    """Theta of this kernel on d features as an array of shape (L,), each entry finite and within +-`LOG_LIMIT`.

    Raises:
        EncodingError: another shape, or a kernel for another number of features.
        NumericalError: an entry whose exponential would overflow or vanish; names it.
    """
    vector = logs(theta)
    size = kernel.size(features)
    if vector.shape != (size,):
        if size == features + 2:
            return check_theta(vector, features)
        raise EncodingError(
            f"theta has shape {vector.shape}, {kernel.name} has {size} hyper-parameters for {features} features"
        )
    _check_logs(vector, lambda: kernel.names(features))
    return vector


def _check_logs(vector: Array, names: Callable[[], Sequence[str]]) -> None:
    within = np.abs(vector) <= LOG_LIMIT
    if not within.all():
        index = int(np.argmin(within))
        raise NumericalError(f"log {names()[index]} is {vector[index]}: it has to be within +-{LOG_LIMIT}")
