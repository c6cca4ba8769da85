"""Random features: finitely many functions whose inner product is about a covariance.

Rahimi & Recht (2007), Random features for large-scale kernel machines, NeurIPS 20: a stationary correlation c is the
characteristic function of its spectral density, so that with m frequencies w drawn from that density

    c(x, x') ~ sum_j (cos w_j'x cos w_j'x' + sin w_j'x sin w_j'x') / m,

with an error of about 1 / sqrt(2 m) at each pair of inputs. Densities (Rasmussen & Williams 2006, sec. 4.2.1), for
lengths in units of the length-scales: standard normal for the RBF; Student's t with 2 nu degrees of freedom for a
Matern; normal over the square root of a gamma mixture for the rational quadratic. A linear kernel and a constant are
inner products already. In a product frequencies add up and the rest multiplies; in a sum features stand side by side.
The draws depend on a seed and on nothing else, so that all who know theta and the seed have the same functions.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, EncodingError, NumericalError
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.hyperparameters import check_theta_of, logs
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.expression import Component, features_of
from fgpr.gp.kernels.kernel import Kernel

_DEGREES = {"matern-1/2": 1.0, "matern-3/2": 3.0, "matern-5/2": 5.0}
"""2 nu."""


class _Waves(NamedTuple):
    """A product of stationary kernels and linear ones.

    Attributes:
        signal_sd: of the term.
        frequencies: shape (m, d); None where nothing in the term is stationary.
        linear: for each linear kernel its columns, and the middles and widths that scale them.
    """

    signal_sd: float
    frequencies: Array | None
    linear: tuple[tuple[list[int], Array, Array], ...]

    @property
    def size(self) -> int:
        waves = 1 if self.frequencies is None else 2 * len(self.frequencies)
        return waves * math.prod(len(columns) for columns, _, _ in self.linear)

    def at(self, X: Array) -> Array:
        """Shape (n, size)."""
        found = np.full((len(X), 1), self.signal_sd)
        if self.frequencies is not None:
            angles = X @ self.frequencies.T
            found = np.hstack([np.cos(angles), np.sin(angles)])
            found *= self.signal_sd / math.sqrt(len(self.frequencies))
        for columns, middles, widths in self.linear:
            scaled = (X[:, columns] - middles) / widths
            found = (found[:, :, np.newaxis] * scaled[:, np.newaxis, :]).reshape(len(X), -1)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class RandomFeatures:
    """D functions phi with phi(x)'phi(x') about K_f(x, x'), the covariance of the function; made by `drawn`.

    Attributes:
        kernel: whose covariance it is.
        theta: hyper-parameters in the wire order, shape (L,); a read-only copy.
        inputs: the number of inputs a row, d.
        seed: of the draws.
    """

    kernel: Kernel
    theta: Array
    inputs: int
    seed: int
    _terms: tuple[_Waves, ...]

    @classmethod
    def drawn(
        cls, kernel: Kernel, theta: npt.ArrayLike, count: int, seed: int, features: int | None = None
    ) -> "RandomFeatures":
        """Draw about so many functions; the terms of a sum have equal parts of them.

        Args:
            kernel: of constant, linear, RBF, Matern and rational quadratic kernels.
            theta: hyper-parameters in the wire order, shape (L,), in log space.
            count: D, at most, unless it is too small for one frequency of each term.
            seed: of the draws; the same one gives the same functions.
            features: the number of inputs d, where the kernel does not tell.

        Raises:
            DataError: a count below 1, or a seed below 0.
            EncodingError: theta has another length, or a kernel of the text has no such features (the periodic one).
            NumericalError: an entry of theta is not finite or too large.
        """
        if count < 1 or seed < 0:
            raise DataError(f"{count} random features of seed {seed}: expected at least 1, and a seed from 0")
        known = kernel.features(logs(theta).size) if features is None else features
        vector = check_theta_of(kernel, theta, known).copy()
        vector.flags.writeable = False
        plans = list(_plans(kernel, vector, known, seed))
        waves = zip(plans, _frequencies(plans, count), strict=True)
        return cls(kernel, vector, known, seed, tuple(plan.drawn(m, known) for plan, m in waves))

    @property
    def count(self) -> int:
        """The number of functions, D."""
        return sum(term.size for term in self._terms)

    def at(self, X: npt.ArrayLike, shares: Sequence[float] | None = None) -> Array:
        """The functions at some inputs, shape (n, D).

        Args:
            X: shape (n, d), in the features' units.
            shares: what part of its variance each term of the sum has here; None for all of it.

        Raises:
            DataError: another number of inputs a row, one that is not finite, or not one share a term.
            NumericalError: a function overflows.
        """
        rows = inputs(X, self.inputs)
        parts = [1.0] * len(self._terms) if shares is None else shares
        if len(parts) != len(self._terms):
            raise DataError(f"{len(parts)} shares for the {len(self._terms)} terms of {self.kernel.name}")
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.hstack([math.sqrt(part) * term.at(rows) for part, term in zip(parts, self._terms, strict=True)])
        if not np.isfinite(found).all():
            raise NumericalError("a random feature overflows: scale the inputs, or raise the length-scales")
        return found


class _Plan(NamedTuple):
    """A term of the text before anything is drawn.

    Attributes:
        signal_sd: at theta.
        stationary: for each such kernel its columns, its own part of theta, and its source of numbers.
        linear: as in `_Waves`.
    """

    signal_sd: float
    stationary: list[tuple[Component, list[int], Array, np.random.Generator]]
    linear: tuple[tuple[list[int], Array, Array], ...]

    @property
    def size(self) -> int:
        """Features of one frequency, or of a term without any."""
        return (2 if self.stationary else 1) * math.prod(len(columns) for columns, _, _ in self.linear)

    def drawn(self, m: int, d: int) -> _Waves:
        if not self.stationary:
            return _Waves(self.signal_sd, None, self.linear)
        frequencies = np.zeros((m, d))
        for component, columns, own, rng in self.stationary:
            frequencies[:, columns] += _spectrum(component, own, len(columns), m, rng)
        return _Waves(self.signal_sd, frequencies, self.linear)


def _plans(kernel: Kernel, theta: Array, d: int, seed: int) -> Iterator[_Plan]:
    names = [str(place) for place in range(d)] if kernel.axes is None else [axis.name for axis in kernel.axes]
    # Without ranges a linear kernel takes inputs as they are.
    lower = np.full(d, -0.5) if kernel.axes is None else np.array([axis.lower for axis in kernel.axes])
    widths = np.ones(d) if kernel.axes is None else np.array([axis.upper for axis in kernel.axes]) - lower
    # A stream for each kernel: how many numbers one takes changes nothing for the others.
    streams = iter(np.random.default_rng(seed).spawn(len(kernel.expression.components)))
    for term in parameters.layout(kernel.expression, d):
        stationary, linear = [], []
        for component, entries in term.components:
            rng, columns = next(streams), [names.index(name) for name in features_of(component, names)]
            if component.name == "linear":
                linear.append((columns, lower[columns] + 0.5 * widths[columns], widths[columns]))
            elif component.name != "constant":
                stationary.append((component, columns, theta[entries], rng))
        yield _Plan(math.exp(theta[term.signal]), stationary, tuple(linear))


def _frequencies(plans: Sequence[_Plan], count: int) -> list[int]:
    """How many each term gets: those that have any share equally, whatever they vary by.

    How many a term needs goes by how rough it is beside how many rows all clients have, which no theta says.
    """
    left = count - sum(plan.size for plan in plans if not plan.stationary)
    part = left // max(1, sum(bool(plan.stationary) for plan in plans))
    return [max(1, part // plan.size) if plan.stationary else 0 for plan in plans]


def _spectrum(component: Component, own: Array, d: int, m: int, rng: np.random.Generator) -> Array:
    """Frequencies of one stationary kernel, shape (m, d), from its own parameters in log space."""
    mixed = rng.spawn(1)[0]
    drawn = rng.standard_normal((m, d)) / np.exp(own[:d])
    degrees = _DEGREES.get(component.name) or 2.0 * dict(component.numbers).get("nu", 0.0)
    if component.name == "rbf":
        return drawn
    if degrees and component.name.startswith("matern"):
        return drawn / np.sqrt(mixed.chisquare(degrees, m) / degrees)[:, np.newaxis]
    if component.name == "rational-quadratic":
        alpha = math.exp(own[d])
        return drawn * np.sqrt(mixed.standard_gamma(alpha, m) / alpha)[:, np.newaxis]
    raise EncodingError(f"{component.text} has no random features: expected constant, linear, rbf, matern or rational")
