"""Vectorised arithmetic modulo a prime: 2^61 - 1, the field of the protocol, or one below 2^32.

Elements are numpy uint64 arrays with values in 0..modulus-1; every function takes such arrays, broadcasts them as
numpy does and returns such arrays. Nothing here checks elements that are already in memory: what comes from outside
enters through `array` and `from_text`, which do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from fgpr import canonical
from fgpr.errors import EncodingError, NumericalError

Elements = NDArray[np.uint64]
"""Field elements, values in 0..modulus-1."""

MERSENNE_61 = 2**61 - 1
WORD_BYTES = 8

_LOW_31 = np.uint64(2**31 - 1)
_LOW_30 = np.uint64(2**30 - 1)
_LOW_32 = np.uint64(2**32 - 1)
_SHIFT_30, _SHIFT_31, _SHIFT_32, _SHIFT_61 = (np.uint64(bits) for bits in (30, 31, 32, 61))
_ONE = np.uint64(1)


@dataclass(frozen=True)
class Field:
    """The integers modulo a prime.

    Attributes:
        modulus: 2^61 - 1, or a prime below 2^32.

    Raises:
        EncodingError: at construction, for any other modulus.
    """

    modulus: int

    def __post_init__(self) -> None:
        """Refuse a modulus for which the products below would not fit 64 bits, or that is not prime."""
        if self.modulus != MERSENNE_61 and not (self.modulus < 2**32 and _is_prime(self.modulus)):
            raise EncodingError(f"modulus {self.modulus}: only 2^61 - 1 and primes below 2^32 are supported")

    def add(self, a: Elements, b: Elements) -> Elements:
        """Sum of two."""
        return self._below_twice(np.add(a, b))

    def sub(self, a: Elements, b: Elements) -> Elements:
        """Difference, the first minus the second."""
        return self._below_twice(np.add(a, np.subtract(np.uint64(self.modulus), b)))

    def neg(self, a: Elements) -> Elements:
        """Negative."""
        return self._below_twice(np.subtract(np.uint64(self.modulus), a))

    def mul(self, a: Elements, b: Elements) -> Elements:
        """Product of two."""
        if self.modulus != MERSENNE_61:
            return np.remainder(np.multiply(a, b), np.uint64(self.modulus))
        # a = a1 2^31 + a0, likewise b; 2^61 = 1, so 2^62 = 2, and the cross terms' own high bits come back at the
        # bottom. The sum stays below 2^61 + 2^32 + 2^61 + 2^62 < 2^64.
        a1, a0 = np.right_shift(a, _SHIFT_31), np.bitwise_and(a, _LOW_31)
        b1, b0 = np.right_shift(b, _SHIFT_31), np.bitwise_and(b, _LOW_31)
        cross = a1 * b0 + a0 * b1
        high = np.left_shift(a1 * b1, _ONE) + np.right_shift(cross, _SHIFT_30)
        total = high + np.left_shift(np.bitwise_and(cross, _LOW_30), _SHIFT_31) + a0 * b0
        folded = np.bitwise_and(total, np.uint64(MERSENNE_61)) + np.right_shift(total, _SHIFT_61)
        return self._below_twice(folded)

    def total(self, a: Elements) -> Elements:
        """Sum over the first axis, [n, ...] -> [...], for n up to 2^32."""
        # Halves of 32 bits add up without a carry out of 64 bits.
        low = np.add.reduce(np.bitwise_and(a, _LOW_32), axis=0, dtype=np.uint64)
        high = np.add.reduce(np.right_shift(a, _SHIFT_32), axis=0, dtype=np.uint64)
        modulus = np.uint64(self.modulus)
        weight = np.array(2**32 % self.modulus, dtype=np.uint64)
        return self.add(np.remainder(low, modulus), self.mul(np.remainder(high, modulus), weight))

    def values_at(self, coefficients: Elements, points: Elements) -> Elements:
        """Values of polynomials without a constant term, one a column.

        Args:
            coefficients: [t, L], the highest power first, the first power last.
            points: [c], below 2^29.

        Returns:
            [c, L].
        """
        x = points[:, None]
        values = np.zeros((points.size, coefficients.shape[1]), dtype=np.uint64)
        if self.modulus != MERSENNE_61:
            for row in coefficients:
                values = self.mul(self.add(values, row), x)
            return values
        # Horner's rule, brought below the modulus only at the end. A value is at most 2^61, so that the sum is at most
        # 2^62 and its part above 2^31, times x, at most 2^60; what is folded stays below 2^62.
        for row in coefficients:
            total = values + row
            high = np.right_shift(total, _SHIFT_31) * x
            low = np.bitwise_and(total, _LOW_31) * x
            low += np.right_shift(high, _SHIFT_30)
            low += np.left_shift(np.bitwise_and(high, _LOW_30), _SHIFT_31)
            values = np.bitwise_and(low, np.uint64(MERSENNE_61)) + np.right_shift(low, _SHIFT_61)
        return self._below_twice(values)

    def inverse(self, a: int) -> int:
        """1 / a for a Python integer.

        Raises:
            NumericalError: `a` is a multiple of the modulus.
        """
        if a % self.modulus == 0:
            raise NumericalError(f"0 has no inverse modulo {self.modulus}")
        return pow(a, -1, self.modulus)

    def uniform(self, shape: tuple[int, ...], random_bytes: Callable[[int], bytes]) -> Elements:
        """Independent uniform elements.

        Args:
            shape: of the result.
            random_bytes: n -> n bytes of a cryptographic generator.
        """
        # Words are cut to the modulus's bit length and drawn again where they reach it; a remainder would be biased.
        count = prod(shape)
        mask = np.uint64((1 << self.modulus.bit_length()) - 1)
        drawn = np.zeros(0, dtype=np.uint64)
        while drawn.size < count:
            words = np.frombuffer(random_bytes(WORD_BYTES * (count - drawn.size)), dtype="<u8") & mask
            drawn = np.concatenate([drawn, words[words < self.modulus].astype(np.uint64)])
        return drawn.reshape(shape)

    def array(self, values: Iterable[int]) -> Elements:
        """Python integers as elements, [n].

        Raises:
            EncodingError: a value outside 0..modulus-1.
        """
        integers = list(values)
        for place, value in enumerate(integers):
            if not 0 <= value < self.modulus:
                raise EncodingError(f"element {place} is {value}, outside 0..{self.modulus - 1}")
        return np.array(integers, dtype=np.uint64)

    def to_bytes(self, vector: Elements) -> bytes:
        """A vector [n] as n 8-byte little-endian words.

        Raises:
            EncodingError: not one-dimensional uint64, or a value that reaches the modulus.
        """
        if vector.ndim != 1 or vector.dtype != np.uint64:
            raise EncodingError(f"a vector of uint64 is needed, not {vector.dtype} of shape {vector.shape}")
        self._check(vector)
        return vector.astype("<u8").tobytes()

    def from_bytes(self, raw: bytes, length: int) -> Elements:
        """The inverse of `to_bytes`.

        Args:
            raw: the words.
            length: how many there must be.

        Raises:
            EncodingError: another length, or a value that reaches the modulus.
        """
        if len(raw) != WORD_BYTES * length:
            raise EncodingError(f"{len(raw)} bytes are not {length} words of {WORD_BYTES} bytes")
        vector = np.frombuffer(raw, dtype="<u8").astype(np.uint64)
        self._check(vector)
        return vector

    def to_text(self, vector: Elements) -> str:
        """`to_bytes` in base64, the form that a vector has in messages; raises as it does."""
        return canonical.to_text(self.to_bytes(vector))

    def from_text(self, text: str, length: int) -> Elements:
        """The inverse of `to_text`; raises as `from_bytes` does, and where `text` is not base64."""
        return self.from_bytes(canonical.from_text(text), length)

    def _check(self, vector: Elements) -> None:
        outside = vector >= self.modulus
        if outside.any():
            # The value itself may be secret.
            raise EncodingError(f"element {outside.argmax()} reaches the modulus {self.modulus}")

    def _below_twice(self, a: Elements) -> Elements:
        # For a < modulus the difference wraps around to far above a, so the smaller one is the residue.
        return np.minimum(a, np.subtract(a, np.uint64(self.modulus)))


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, isqrt(number) + 1))
