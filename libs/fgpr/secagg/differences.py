"""Differences from the prior as signed field elements with noise, and their sum as an average (docs/privacy.md).

A client's difference is rounded to whole quanta and shrunk until the *rounded* vector lies in the ball of radius C:
what the accounting counts on is true of the very integers that are summed. To each of them it adds its share of
discrete Gaussian noise; negative integers are written modulo p. Behind them stands the weight, always 1 and without
noise: how many clients are counted is no secret. Decoding centres modulo p and divides by the number of clients, both
in exact arithmetic; an average that the noise carried out of its bounds is set to the bound.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import ArrayLike

from fgpr.errors import EncodingError, LocalProtocolError, SumRefused
from fgpr.secagg import discrete_gaussian, privacy
from fgpr.secagg.discrete_gaussian import RandomBytes
from fgpr.secagg.encoding import Codec, Decoded, Encoded
from fgpr.secagg.field import MERSENNE_61, Elements
from fgpr.secagg.messages import Plan
from fgpr.secagg.privacy import PrivacyTerms


@dataclass(frozen=True)
class DifferenceCodec:
    """How the numbers of a round under differential privacy are encoded.

    Attributes:
        codec: names and bounds; its bits and its cap play no part.
        terms: of the plan.

    Raises:
        EncodingError: at construction, where the origin has another length than the codec or leaves its bounds.
    """

    codec: Codec
    terms: PrivacyTerms

    def __post_init__(self) -> None:
        """Check the origin against the bounds."""
        codec, origin = self.codec, self.terms.origin
        if len(origin) != len(codec.names):
            raise EncodingError(f"an origin of {len(origin)} numbers for a codec of {len(codec.names)}")
        for name, lower, upper, number in zip(codec.names, codec.lower, codec.upper, origin, strict=True):
            if not lower <= number <= upper:
                raise EncodingError(f"the origin of {name} is {number}, outside its bounds {lower}..{upper}")

    @property
    def length(self) -> int:
        """Field elements of a client: L + 1."""
        return self.codec.length

    def check_capacity(self, clients: int) -> None:
        """Check that the sums of so many clients fit the field; raises as `privacy.check_signed_capacity`."""
        privacy.check_signed_capacity(clients, self.terms, MERSENNE_61)

    def quanta(self, x: ArrayLike) -> tuple[list[int], tuple[str, ...], bool]:
        """A client's difference from the origin in whole quanta, before noise.

        Args:
            x: [L], in the order of the codec's names.

        Returns:
            The rounded difference, with an L2 norm of at most C; names of numbers that were clipped to their bounds;
            whether it was shrunk.

        Raises:
            EncodingError: another shape, or a number that is not finite.
        """
        values, codec = np.asarray(x, dtype=np.float64), self.codec
        if values.shape != (len(codec.names),):
            raise EncodingError(f"{len(codec.names)} numbers are encoded, got an array of shape {values.shape}")
        for name, value in zip(codec.names, values.tolist(), strict=True):
            if not np.isfinite(value):
                raise EncodingError(f"{name} is {value}; only finite numbers are encoded, nothing was sent")
        inside = np.clip(values, codec.lower, codec.upper)
        saturated = tuple(name for name, moved in zip(codec.names, inside != values, strict=True) if moved)
        step = Fraction(self.terms.quantum)
        exact = [
            (Fraction(value) - Fraction(start)) / step
            for value, start in zip(inside.tolist(), self.terms.origin, strict=True)
        ]
        rounded = [round(number) for number in exact]
        if _square(rounded) <= self.terms.clip**2:
            return rounded, saturated, False
        return _shrunk(exact, self.terms.clip), saturated, True

    def encode(self, x: ArrayLike, random_bytes: RandomBytes) -> Encoded:
        """A client's difference with its share of the noise, as field elements.

        Args:
            x: [L], in the order of the codec's names.
            random_bytes: the system's generator of secret bytes.

        Raises:
            EncodingError: as `quanta`.
        """
        rounded, saturated, shrunk = self.quanta(x)
        noise = discrete_gaussian.sample(self.terms.share, len(rounded), random_bytes)
        elements = [(number + drawn) % MERSENNE_61 for number, drawn in zip(rounded, noise, strict=True)]
        return Encoded(
            vector=np.array([*elements, 1], dtype=np.uint64),
            weight=1,
            saturated=saturated,
            weight_capped=False,
            shrunk=shrunk,
        )

    def decode(self, total: Elements, cohort_size: int) -> Decoded:
        """The noisy average in a sum of encoded vectors.

        Args:
            total: [L + 1], the sum over the cohort.
            cohort_size: |S|, clients in it.

        Raises:
            SumRefused: the weights do not add up to |S|, or a number is larger than so many clients and their noise
                can make it: some client's vector is not what it should be, or the sum was opened wrongly.
            EncodingError: another shape.
            LocalProtocolError: an empty cohort.
        """
        codec, terms = self.codec, self.terms
        if total.shape != (codec.length,):
            raise EncodingError(f"a sum of {codec.length} elements is needed, got shape {total.shape}")
        if cohort_size < 1:
            raise LocalProtocolError(f"a cohort of {cohort_size} clients has no average")
        *sums, weight = (int(value) for value in total)
        if weight != cohort_size:
            raise SumRefused(f"total weight {weight} of {cohort_size} clients that weigh 1 each")
        most = cohort_size * terms.clip + privacy.noise_tail(cohort_size, terms)
        average: list[float] = []
        clamped: list[str] = []
        for name, lower, upper, start, value in zip(
            codec.names, codec.lower, codec.upper, terms.origin, sums, strict=True
        ):
            centred = value - MERSENNE_61 if value > MERSENNE_61 // 2 else value
            if abs(centred) > most:
                raise SumRefused(f"the sum of {name} is beyond what {cohort_size} clients and their noise can make")
            exact = Fraction(start) + Fraction(terms.quantum) * Fraction(centred, cohort_size)
            if not lower <= exact <= upper:
                clamped.append(name)
            average.append(float(min(max(exact, Fraction(lower)), Fraction(upper))))
        return Decoded(average=np.array(average), total_weight=weight, clamped=tuple(clamped))


def codec_of(plan: Plan) -> Codec | DifferenceCodec:
    """How the sums of a plan are encoded.

    Raises:
        EncodingError: codec or terms of the plan do not have their form.
    """
    codec = Codec.from_json(plan.codec)
    return codec if plan.differential_privacy is None else DifferenceCodec(codec, plan.differential_privacy)


def _shrunk(exact: list[Fraction], clip: int) -> list[int]:
    """The rounded exact * r / |exact| for the first r of C, C - 1/2, C - 1, ... that puts it into the ball."""
    # A norm that is rounded up makes it shorter, never longer.
    square = _square(exact)
    norm = Fraction(isqrt(-(-square.numerator // square.denominator)) + 1)
    halves = 2 * clip
    while True:
        rounded = [round(number * halves / (2 * norm)) for number in exact]
        if _square(rounded) <= clip**2:
            return rounded
        # Ends at 0 at the latest, where everything is rounded to 0.
        halves -= 1


def _square(numbers: list[int] | list[Fraction]) -> Fraction:
    return Fraction(sum(number * number for number in numbers))
