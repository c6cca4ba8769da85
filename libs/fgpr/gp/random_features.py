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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, NumericalError
from fgpr.gp.arrays import Array, inputs
from fgpr.gp.hyperparameters import check_theta_of, logs
from fgpr.gp.kernels.kernel import Kernel
from fgpr.gp.waves import Outline, Waves, outlines

Counts = int | Sequence[int]
"""How many features: in all, or for each term of the kernel's sum."""


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
    _terms: tuple[Waves, ...]

    @classmethod
    def drawn(
        cls, kernel: Kernel, theta: npt.ArrayLike, count: Counts, seed: int, features: int | None = None
    ) -> "RandomFeatures":
        """Draw about so many functions.

        Args:
            kernel: of constant, linear, RBF, Matern and rational quadratic kernels.
            theta: hyper-parameters in the wire order, shape (L,).
            count: D, at most, of which the terms of a sum have equal parts; or one such number for each of them. Where
                it is too small for one frequency of a term, that term has one.
            seed: of the draws; the same one gives the same functions.
            features: the number of inputs d, where the kernel does not tell.

        Raises:
            DataError: a count below 1, not one a term, or a seed below 0.
            EncodingError: theta has another length, or a kernel of the text has no such features (the periodic one).
            NumericalError: an entry of theta is not finite or too large.
        """
        if seed < 0:
            raise DataError(f"random features of seed {seed}: expected a seed from 0")
        known = kernel.features(logs(theta).size) if features is None else features
        vector = check_theta_of(kernel, theta, known).copy()
        vector.flags.writeable = False
        terms = list(outlines(kernel, vector, known, seed))
        waves = zip(terms, _frequencies(kernel, terms, count), strict=True)
        return cls(kernel, vector, known, seed, tuple(outline.drawn(m) for outline, m in waves))

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

    def gradient(self, X: npt.ArrayLike, phi: Array, upstream: Array) -> tuple[Array, Array]:
        """What a gradient by the functions is by theta: sum_ij G_ij d phi_ij / d theta, the draws being kept.

        Args:
            X: inputs, shape (n, d), in the features' units.
            phi: the functions there at any shares, shape (n, D).
            upstream: G, shape (n, D).

        Returns:
            That by theta, shape (L,), the noise having none; and the part of each term's log signal sd in it, one a
            term. A term's log share has half of the latter.

        Raises:
            DataError: another number of inputs a row, or one that is not finite.
            EncodingError: a kernel's draws have no gradient (the rational quadratic one's).
        """
        rows, out = inputs(X, self.inputs), np.zeros(self.theta.size)
        ends = np.cumsum([0, *(term.size for term in self._terms)])
        signals = [
            term.add_gradient(rows, phi[:, start:stop], upstream[:, start:stop], out)
            for term, (start, stop) in zip(self._terms, pairwise(ends), strict=True)
        ]
        return out, np.array(signals)


def _frequencies(kernel: Kernel, terms: Sequence[Outline], count: Counts) -> list[int]:
    """How many each term gets: those that have any share one number equally, whatever they vary by.

    How many a term needs goes by how rough it is beside how many rows all clients have, which no theta says.
    """
    if not isinstance(count, Sequence):
        left = count - sum(outline.size for outline in terms if not outline.stationary)
        counts: Sequence[int] = [left // max(1, sum(bool(outline.stationary) for outline in terms))] * len(terms)
        least = count
    else:
        counts, least = count, min(count, default=0)
    if least < 1:
        raise DataError(f"{least} random features: expected at least 1")
    if len(counts) != len(terms):
        raise DataError(f"{len(counts)} numbers of random features for the {len(terms)} terms of {kernel.name}")
    return [
        max(1, one // outline.size) if outline.stationary else 0 for outline, one in zip(terms, counts, strict=True)
    ]
