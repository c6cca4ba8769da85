"""A covariance that is a sum of products of kernels.

With s2 = sum_i s_i^2 and the shares w_i = s_i^2 / s2, C = sum_i w_i P_i, P_i = prod_j c_ij. By the product rule

    d K_f / d log s_i = 2 s2 w_i P_i,   d K_f / d p_ij = s2 w_i prod_{k != j} c_ik d c_ij / d p_ij.

The paper's compound covariance is the case of one kernel a term.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.kernels.factor import PlacedFactor, correlation_of
from fgpr.gp.kernels.panels import add_lower, buffer_for, multiply_lower, panels


class PlacedTerm(NamedTuple):
    """A product on n inputs.

    Attributes:
        signal: place of its log signal sd in theta.
        factors: its kernels, each with the places of its parameters in theta.
    """

    signal: int
    factors: tuple[tuple[PlacedFactor, slice], ...]


class PlacedCompound:
    """See `fgpr.gp.kernels.kernel.Placed`."""

    def __init__(self, terms: Sequence[PlacedTerm], rows: int) -> None:
        self._terms = terms
        self.rows = rows
        self.signal_variance = float(len(terms))
        self._shares = np.full(len(terms), 1.0 / len(terms))
        self._correlations: list[list[Array]] = []
        self._weights: list[list[Array | None]] = []

    @property
    def rounding(self) -> float:
        """See the protocol: a factor's rounding is multiplied by the others, at most by their diagonals."""
        total = 0.0
        for share, term in zip(self._shares.tolist(), self._terms, strict=True):
            largest = [float(np.max(factor.diagonal, initial=0.0)) for factor, _ in term.factors]
            for place, (factor, _) in enumerate(term.factors):
                total += share * factor.rounding * math.prod(largest[:place] + largest[place + 1 :])
        return total

    @property
    def blur(self) -> float:
        """See the protocol."""
        return sum(factor.blur for term in self._terms for factor, _ in term.factors)

    @property
    def diagonal(self) -> float | Array:
        """See the protocol."""
        total: float | Array = 0.0
        for share, term in zip(self._shares, self._terms, strict=True):
            total = total + share * reduce(np.multiply, (factor.diagonal for factor, _ in term.factors))
        return total

    def rescale(self, theta: Array) -> None:
        """See the protocol."""
        # Over the largest: the shares of terms of very different size neither overflow nor vanish together.
        signals = 2.0 * theta[[term.signal for term in self._terms]]
        parts = np.exp(signals - signals.max())
        self._shares = parts / parts.sum()
        self.signal_variance = float(np.exp(signals.max()) * parts.sum())
        for term in self._terms:
            for factor, entries in term.factors:
                factor.rescale(theta[entries])

    def settle(self) -> None:
        """See the protocol."""
        for term in self._terms:
            for factor, _ in term.factors:
                factor.settle()

    def fill(self, matrix: Array, weight: Array | None) -> None:
        """See the protocol; for a gradient all correlations of its parts are kept, beside `weight`."""
        if weight is None:
            self._fill_alone(matrix)
            return
        if not self._correlations:
            self._correlations = [[self._buffer() for _ in term.factors] for term in self._terms]
            self._weights = [
                [_weight_for(self._buffer, entries) for _, entries in term.factors] for term in self._terms
            ]
        for term, correlations, weights in zip(self._terms, self._correlations, self._weights, strict=True):
            for (factor, _), correlation, kept in zip(term.factors, correlations, weights, strict=True):
                _fill(factor, correlation, kept)
        product = buffer_for(self.rows)
        for panel in panels(self.rows):
            total, part = panel.of(matrix), panel.within(product)
            total[...] = 0.0
            for share, correlations in zip(self._shares, self._correlations, strict=True):
                first, *others = correlations
                part[...] = panel.of(first)
                for correlation in others:
                    part *= panel.of(correlation)
                part *= share
                total += part

    def _fill_alone(self, matrix: Array) -> None:
        """The matrix without anything kept: one more for a sum, one more for a product."""
        product = self._buffer() if len(self._terms) > 1 else matrix
        one = self._buffer() if any(len(term.factors) > 1 for term in self._terms) else matrix
        for number, (share, term) in enumerate(zip(self._shares, self._terms, strict=True)):
            into = product if number else matrix
            for place, (factor, _) in enumerate(term.factors):
                _fill(factor, one if place else into, None)
                if place:
                    multiply_lower(into, one)
            multiply_lower(into, float(share))
            if number:
                add_lower(matrix, into)

    def cross(self, other: "PlacedCompound") -> Array:
        """See the protocol."""
        total: Array | None = None
        for share, ours, theirs in zip(self._shares, self._terms, other._terms, strict=True):
            product: Array | None = None
            for (left, _), (right, _) in zip(ours.factors, theirs.factors, strict=True):
                crossed = left.cross(right)
                product = crossed if product is None else np.multiply(product, crossed, out=product)
                del crossed
            if product is None:
                continue
            product *= share
            total = product if total is None else np.add(total, product, out=total)
            del product
        return np.zeros((self.rows, other.rows), order="F") if total is None else total

    def gradient(self, residual: Array, weight: Array, total: float, out: Array) -> None:  # noqa: ARG002 - one weight a factor is kept here
        """See the protocol.

        The derivatives by the signals are sums over matrices; what rounding and jitter leave between their sum and
        `total`, which is exact, is shared out.
        """
        upstream = self._buffer()
        signals = []
        for number, (share, term) in enumerate(zip(self._shares, self._terms, strict=True)):
            correlations = self._correlations[number]
            signals.append(float(share) * self._full_sum(residual, correlations))
            for place, (factor, entries) in enumerate(term.factors):
                kept = self._weights[number][place]
                if kept is None:
                    continue
                others = [correlation for other, correlation in enumerate(correlations) if other != place]
                self._product(residual, float(share), others, upstream)
                out[entries] = factor.gradient(upstream, kept)
        rest = total - sum(signals)
        for share, term, signal in zip(self._shares, self._terms, signals, strict=True):
            out[term.signal] = signal + share * rest

    def derivatives(self) -> Iterator[tuple[int, Array]]:
        """See the protocol."""
        siblings = self._buffer()
        for share, term in zip(self._shares, self._terms, strict=True):
            correlations = [correlation_of(factor, self.rows) for factor, _ in term.factors]
            siblings[...] = 2.0 * share
            for correlation in correlations:
                siblings *= correlation
            yield term.signal, siblings
            for place, (factor, entries) in enumerate(term.factors):
                siblings[...] = share
                for other, correlation in enumerate(correlations):
                    if other != place:
                        siblings *= correlation
                for entry, derivative in enumerate(factor.derivatives(), start=entries.start):
                    derivative *= siblings
                    yield entry, derivative
                    del derivative
            del correlations, correlation

    def _full_sum(self, residual: Array, correlations: Sequence[Array]) -> float:
        """The sum over all entries of the product of symmetric matrices, from their lower triangles."""
        product, total = buffer_for(self.rows), 0.0
        for panel in panels(self.rows):
            part = panel.within(product)
            part[...] = panel.of(residual)
            for correlation in correlations:
                part *= panel.of(correlation)
            columns = panel.stop - panel.start
            total += 2.0 * float(np.tril(part).sum()) - float(part[:columns].trace())
        return total

    def _product(self, residual: Array, share: float, correlations: Sequence[Array], out: Array) -> None:
        """The lower triangle of share times the product of these matrices."""
        for panel in panels(self.rows):
            part = panel.of(out)
            np.multiply(panel.of(residual), share, out=part)
            for correlation in correlations:
                part *= panel.of(correlation)

    def _buffer(self) -> Array:
        return np.empty((self.rows, self.rows), order="F")


def _weight_for(buffer: Callable[[], Array], entries: slice) -> Array | None:
    """Room for what a factor needs for its gradient; None for one without parameters."""
    return buffer() if entries.stop > entries.start else None


def _fill(factor: PlacedFactor, correlation: Array, weight: Array | None) -> None:
    factor.fill(correlation, weight)
    diagonal(correlation)[:] = factor.diagonal
