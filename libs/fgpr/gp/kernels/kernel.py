"""A covariance function, made of its text form, and what it is on given inputs.

The covariance of the function is K_f = s2 C, with s2 = sum_i s_i^2 over the terms of the sum and
C = sum_i (s_i^2 / s2) prod_j c_ij. Likelihood and posterior work on C + (noise / s2) I, so that no signal variance,
however large, reaches a matrix. Kernels of one part, the common case, have a path of their own:
`fgpr.gp.kernels.single`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.catalogue import KINDS, Ranges
from fgpr.gp.kernels.compound import PlacedCompound, PlacedTerm
from fgpr.gp.kernels.expression import Component, Expression, features_of
from fgpr.gp.kernels.factor import Place, PlacedFactor
from fgpr.gp.kernels.footprint import Footprint, footprint
from fgpr.gp.kernels.parameters import Axis
from fgpr.gp.kernels.parsing import parse
from fgpr.gp.kernels.radial import PlaceRadial, Profile
from fgpr.gp.kernels.single import PlacedSingle

MAX_FEATURES = 298
"""More would make the theta of a single kernel longer than the 300 numbers that a contribution is meant for."""

MAX_THETA = 300
"""Entries of theta that a contribution is meant for."""


class Placed(Protocol):
    """A kernel on n inputs; `rescale` has to come before anything else."""

    @property
    def rows(self) -> int:
        """The number of inputs, n."""

    @property
    def rounding(self) -> float:
        """Bound on the rounding of an entry of C."""

    @property
    def blur(self) -> float:
        """What distances have lost: bound on the rounding of a correlation by that of its inputs' differences."""

    @property
    def signal_variance(self) -> float:
        """The sum of the terms' signal variances, s2."""

    @property
    def diagonal(self) -> float | Array:
        """The diagonal of C: 1 for stationary kernels, else shape (n,)."""

    def rescale(self, theta: Array) -> None:
        """Take this theta; the noise in it is not used.

        Raises:
            NumericalError: the scaled inputs overflow.
        """

    def settle(self) -> None:
        """Compute what `cross` would leave for its first call, so that several threads may call it at once."""

    def fill(self, matrix: Array, weight: Array | None) -> None:
        """The lower triangle of C into `matrix`, and into `weight` what `gradient` will need.

        Both are of shape (n, n), in Fortran order; above the diagonal may be anything afterwards.
        """

    def cross(self, other: Any) -> Array:
        """C between these inputs and those of `other`, the same kernel with the same centre; shape (n, m)."""

    def gradient(self, residual: Array, weight: Array, total: float, out: Array) -> None:
        """sum_ij R_ij d C_ij / d p / 2 for all parameters but the noise, C here times the signal variance over s2.

        Args:
            residual: R, symmetric; only its lower triangle is read. It is overwritten.
            weight: as `fill` left it.
            total: the sum of the derivatives by all log signal sds, which is known without a matrix.
            out: gets the derivatives, in the places of theta.
        """

    def derivatives(self) -> Iterator[tuple[int, Array]]:
        """(place in theta, d K_f / d p over s2, of shape (n, n), Fortran order) for all parameters but the noise.

        Each matrix may be overwritten by the caller, and is by the next one.
        """


class _Part(NamedTuple):
    """A kernel of the text, ready to be placed on its columns; None for all of them."""

    make: Place
    columns: list[int] | None

    def place(self, X: Array, centre: Array | None) -> PlacedFactor:
        if self.columns is None:
            placed: PlacedFactor = self.make(X, centre)
            return placed
        chosen: PlacedFactor = self.make(X[:, self.columns], None if centre is None else centre[self.columns])
        return chosen


@dataclass(frozen=True, slots=True)
class Kernel:
    """A covariance function; made by `kernel_named`.

    Attributes:
        expression: what it is.
        axes: the features that it is for; None where its expression needs no names, for any number of features.
    """

    expression: Expression
    axes: tuple[Axis, ...] | None
    _parts: tuple[_Part, ...] = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its text, in the canonical spelling."""
        return self.expression.text

    @property
    def footprint(self) -> Footprint:
        """How many n x n matrices computations with it hold."""
        return footprint(self.expression)

    @property
    def profile(self) -> Profile | None:
        """Its correlation as a function of the distance, for one ARD kernel on all features; else None."""
        maker = self._parts[0].make
        alone = len(self._parts) == 1 and self._parts[0].columns is None
        return maker.profile if alone and isinstance(maker, PlaceRadial) else None

    def names(self, features: int) -> tuple[str, ...]:
        """Names of the entries of theta, for d features."""
        known = [str(n + 1) for n in range(features)] if self.axes is None else [axis.name for axis in self.axes]
        return parameters.names(self.expression, known)

    def size(self, features: int) -> int:
        """The length of theta, for d features.

        Raises:
            EncodingError: the kernel is for another number of features.
        """
        if self.axes is not None and features != len(self.axes):
            raise EncodingError(f"the inputs have {features} features, the kernel is for {len(self.axes)}")
        return parameters.size(self.expression, features)

    def features(self, size: int) -> int:
        """The number of features that a theta of that length is for; 1 where it does not tell.

        Raises:
            EncodingError: there is none.
        """
        candidates = range(1, MAX_FEATURES + 1) if self.axes is None else (len(self.axes),)
        for features in candidates:
            if self.size(features) == size:
                return features
        raise EncodingError(f"no number of features gives {self.name} a theta of {size} entries")

    @property
    def tells_features(self) -> bool:
        """The length of theta, or the axes, say for how many features it is."""
        return self.axes is not None or self.size(1) != self.size(2)

    def place(self, X: Array, centre: Array | None = None) -> Placed:
        """The kernel on inputs of shape (n, d); two sets that are to be crossed need the same centre, shape (d,)."""
        if len(self._parts) == 1:
            return PlacedSingle(self._parts[0].place(X, centre), len(X))
        parts = iter(self._parts)
        terms = [
            PlacedTerm(term.signal, tuple((next(parts).place(X, centre), each.entries) for each in term.components))
            for term in parameters.layout(self.expression, X.shape[1])
        ]
        return PlacedCompound(terms, len(X))


def kernel_named(text: str, axes: Sequence[Axis] | None = None) -> Kernel:
    """The kernel that a text says (`fgpr.gp.kernels.parsing`).

    Args:
        text: for instance "rbf" or "rbf(cycle) + 0.5 * periodic(period=20)".
        axes: the model's features in order; may be left out where the text names none.

    Raises:
        EncodingError: not such a text (names the place), or a feature that there is not.
    """
    expression = parse(text)
    if axes is None:
        named = [component.text for component in expression.components if component.features]
        if named:
            raise EncodingError(f"kernel {named[0]} names features: it needs the features of the model")
    else:
        parameters.parameters(expression, axes)
    parts = tuple(_part(component, axes) for component in expression.components)
    return Kernel(expression, None if axes is None else tuple(axes), parts)


def _part(component: Component, axes: Sequence[Axis] | None) -> _Part:
    """A kernel of the text, tied to its columns."""
    maker = KINDS[component.name].make
    numbers = dict(component.numbers)
    if axes is None:
        return _Part(maker(numbers, None), None)
    names = [axis.name for axis in axes]
    columns = [names.index(feature) for feature in features_of(component, names)]
    lower = np.array([axes[column].lower for column in columns])
    widths = np.array([axes[column].upper for column in columns]) - lower
    return _Part(maker(numbers, Ranges(lower + 0.5 * widths, widths)), columns if component.features else None)
