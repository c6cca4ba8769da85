"""A covariance that is a sum of products of kernels.

With s2 = sum_i s_i^2 and the shares w_i = s_i^2 / s2, C = sum_i w_i P_i, P_i = prod_j c_ij. By the product rule

    d K_f / d log s_i = 2 s2 w_i P_i,   d K_f / d p_ij = s2 w_i prod_{k != j} c_ik d c_ij / d p_ij.

The paper's compound covariance is the case of one kernel a term.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from fgpr.gp.arrays import Array, diagonal
from fgpr.gp.kernels.factor import PlacedFactor, filled, symmetric


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
        self._weights: list[list[Array]] = []

    @property
    def rounding(self) -> float:
        """See the protocol."""
        return sum(factor.rounding for term in self._terms for factor, _ in term.factors)

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
        keep = weight is not None
        if keep and not self._correlations:
            self._correlations, self._weights = self._buffers(), self._buffers()
        matrix[...] = 0.0
        for number, (share, term) in enumerate(zip(self._shares, self._terms, strict=True)):
            product: Array | None = None
            for place, (factor, _) in enumerate(term.factors):
                correlation = self._correlations[number][place] if keep else np.empty_like(matrix)
                factor.fill(correlation, self._weights[number][place] if keep else None)
                diagonal(correlation)[:] = factor.diagonal
                correlation[...] = symmetric(correlation)
                product = correlation if product is None else product * correlation
            matrix += share * product

    def cross(self, other: "PlacedCompound") -> Array:
        """See the protocol."""
        total = np.zeros((self.rows, other.rows), order="F")
        for share, ours, theirs in zip(self._shares, self._terms, other._terms, strict=True):
            crossed = (left.cross(right) for (left, _), (right, _) in zip(ours.factors, theirs.factors, strict=True))
            total += share * reduce(np.multiply, crossed)
        return total

    def gradient(self, residual: Array, weight: Array, total: float, out: Array) -> None:  # noqa: ARG002 - one weight a factor is kept here
        """See the protocol.

        The derivatives by the signals are sums over matrices; what rounding and jitter leave between their sum and
        `total`, which is exact, is shared out.
        """
        full = symmetric(residual)
        signals = []
        for number, (share, term) in enumerate(zip(self._shares, self._terms, strict=True)):
            correlations = self._correlations[number]
            signals.append(share * float(np.einsum("ij,ij->", full, reduce(np.multiply, correlations))))
            for place, (factor, entries) in enumerate(term.factors):
                upstream = share * full
                for other, correlation in enumerate(correlations):
                    if other != place:
                        upstream *= correlation
                out[entries] = factor.gradient(upstream, self._weights[number][place])
        rest = total - sum(signals)
        for share, term, signal in zip(self._shares, self._terms, signals, strict=True):
            out[term.signal] = signal + share * rest

    def derivatives(self) -> Iterator[tuple[int, Array]]:
        """See the protocol."""
        for share, term in zip(self._shares, self._terms, strict=True):
            correlations = [filled(factor, self.rows)[0] for factor, _ in term.factors]
            yield term.signal, 2.0 * share * reduce(np.multiply, correlations)
            for place, (factor, entries) in enumerate(term.factors):
                others = [correlation for other, correlation in enumerate(correlations) if other != place]
                siblings = reduce(np.multiply, others, np.full((self.rows, self.rows), share))
                for entry, derivative in enumerate(factor.derivatives(), start=entries.start):
                    yield entry, siblings * derivative

    def _buffers(self) -> list[list[Array]]:
        return [[np.empty((self.rows, self.rows), order="F") for _ in term.factors] for term in self._terms]
