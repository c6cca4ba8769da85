"""Random waves of one term of a kernel's sum: cosines and sines, and what the linear kernels of a product make of them.

The frequencies of a product add up. They are numbers drawn once, over the length-scales: with z those numbers, l the
length-scales and w = z / l, the angles w'x have the derivatives

    d cos(w'x) / d log l_j = sin(w'x) w_j x_j        d sin(w'x) / d log l_j = -cos(w'x) w_j x_j,

so that the gradient of anything by the waves is one by the length-scales too. See `fgpr.gp.random_features`.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.expression import Component, features_of
from fgpr.gp.kernels.kernel import Kernel

_DEGREES = {"matern-1/2": 1.0, "matern-3/2": 3.0, "matern-5/2": 5.0}
"""2 nu."""


class _Spectrum(NamedTuple):
    """What one stationary kernel adds to the frequencies of a term.

    Attributes:
        component: of the text.
        columns: of the inputs that it sees.
        entries: its places in theta.
        frequencies: shape (m, number of columns).
    """

    component: Component
    columns: list[int]
    entries: slice
    frequencies: Array


class Waves(NamedTuple):
    """A product of stationary kernels and linear ones.

    Attributes:
        signal: place of the term's log signal sd in theta.
        signal_sd: of the term.
        spectra: of its stationary kernels; none where it has none.
        linear: for each linear kernel its columns, and the middles and widths that scale them.
    """

    signal: int
    signal_sd: float
    spectra: tuple[_Spectrum, ...]
    linear: tuple[tuple[list[int], Array, Array], ...]

    @property
    def size(self) -> int:
        """The number of functions."""
        waves = 2 * len(self.spectra[0].frequencies) if self.spectra else 1
        return waves * math.prod(len(columns) for columns, _, _ in self.linear)

    def at(self, X: Array) -> Array:
        """The functions at inputs of shape (n, d): shape (n, size)."""
        found = np.full((len(X), 1), self.signal_sd)
        if self.spectra:
            angles = self._angles(X)
            found = np.hstack([np.cos(angles), np.sin(angles)])
            found *= self.signal_sd / math.sqrt(angles.shape[1])
        for scaled in self._scaled(X):
            found = (found[:, :, np.newaxis] * scaled[:, np.newaxis, :]).reshape(len(X), -1)
        return found

    def add_gradient(self, X: Array, phi: Array, upstream: Array, out: Array) -> float:
        """Add sum_ij G_ij d phi_ij / d p for the parameters p of this term.

        Args:
            X: inputs, shape (n, d).
            phi: the functions there, shape (n, size); any multiple, as long as `upstream` is by the same.
            upstream: G, shape (n, size).
            out: gets them added, at the places of theta.

        Returns:
            That by the log signal sd, which is added too.

        Raises:
            EncodingError: a rational quadratic kernel, whose draws are no smooth function of its alpha.
        """
        weighted = upstream * phi
        signal = float(weighted.sum())
        out[self.signal] += signal
        if not self.spectra:
            return signal
        m = len(self.spectra[0].frequencies)
        # G times the other half of the pair: columns are waves outermost, linear inputs within.
        turned = np.concatenate([phi[:, phi.shape[1] // 2 :], phi[:, : phi.shape[1] // 2]], axis=1)
        turned *= upstream
        each = turned.reshape(len(X), 2, m, -1).sum(axis=3)
        by_angle = each[:, 1] - each[:, 0]
        for component, columns, entries, frequencies in self.spectra:
            if component.name == "rational-quadratic":
                raise EncodingError(f"{component.text} cannot be trained by random features: use an RBF or Matern")
            by_frequency = X[:, columns].T @ by_angle
            out[entries] -= np.einsum("jm,mj->j", by_frequency, frequencies)
        return signal

    def _angles(self, X: Array) -> Array:
        total = np.zeros((len(X), len(self.spectra[0].frequencies)))
        for _, columns, _, frequencies in self.spectra:
            total += X[:, columns] @ frequencies.T
        return total

    def _scaled(self, X: Array) -> Iterator[Array]:
        for columns, middles, widths in self.linear:
            yield (X[:, columns] - middles) / widths


class Outline(NamedTuple):
    """A term of the text before anything is drawn.

    Attributes:
        signal: place of its log signal sd in theta.
        signal_sd: at theta.
        stationary: for each such kernel its columns, its places in theta, its own part of theta, and its source of
            numbers.
        linear: as in `Waves`.
    """

    signal: int
    signal_sd: float
    stationary: list[tuple[Component, list[int], slice, Array, np.random.Generator]]
    linear: tuple[tuple[list[int], Array, Array], ...]

    @property
    def size(self) -> int:
        """Functions of one frequency, or of a term without any."""
        return (2 if self.stationary else 1) * math.prod(len(columns) for columns, _, _ in self.linear)

    def drawn(self, m: int) -> Waves:
        """With m frequencies, where it has any.

        Raises:
            EncodingError: a kernel has no random features.
        """
        spectra = tuple(
            _Spectrum(component, columns, entries, _frequencies(component, own, len(columns), m, rng))
            for component, columns, entries, own, rng in self.stationary
        )
        return Waves(self.signal, self.signal_sd, spectra, self.linear)


def outlines(kernel: Kernel, theta: Array, d: int, seed: int) -> Iterator[Outline]:
    """The terms of a kernel for d inputs, each with its own source of numbers."""
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
                stationary.append((component, columns, entries, theta[entries], rng))
        yield Outline(term.signal, math.exp(theta[term.signal]), stationary, tuple(linear))


def _frequencies(component: Component, own: Array, d: int, m: int, rng: np.random.Generator) -> Array:
    """Of one stationary kernel, shape (m, d), from its own parameters in log space."""
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
