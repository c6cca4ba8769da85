"""Exact samples of the discrete Gaussian distribution N_Z(0, sigma^2), with whole numbers and fractions only.

P(X = x) is proportional to exp(-x^2 / (2 sigma^2)) for each integer x. The method is that of Canonne, Kamath and
Steinke 2020, "The Discrete Gaussian for Differential Privacy" (arXiv:2004.00010), Algorithms 1 to 3: no float is
rounded anywhere, so that no low bit of a sample tells more than the distribution does. It takes a few dozen random
draws a sample, whatever sigma is. How long it takes depends on the sample, which matters only to somebody who can time
it on the client's own machine.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from fgpr.errors import EncodingError

RandomBytes = Callable[[int], bytes]
"""n -> n bytes of a cryptographic generator."""

MOST_BITS = 256
"""Most bits of a variance's numerator and of its denominator."""


def sample(variance: Fraction, count: int, random_bytes: RandomBytes) -> list[int]:
    """Independent samples of N_Z(0, variance).

    Args:
        variance: sigma^2, the parameter of the distribution; its variance is at most that, and equal to it but for
            about exp(-2 pi^2 sigma^2) of it.
        count: how many.
        random_bytes: the system's generator of secret bytes.

    Raises:
        EncodingError: a variance that is not a positive fraction of at most 256 bits above and below, or a negative
            count.
    """
    if not isinstance(variance, Fraction) or variance <= 0:
        raise EncodingError(f"the variance of discrete Gaussian noise is {variance!r}; a positive Fraction is needed")
    if max(variance.numerator.bit_length(), variance.denominator.bit_length()) > MOST_BITS:
        raise EncodingError(f"the variance of discrete Gaussian noise has more than {MOST_BITS} bits above or below")
    if count < 0:
        raise EncodingError(f"{count} samples cannot be drawn")
    return [_gaussian(variance, random_bytes) for _ in range(count)]


def _gaussian(variance: Fraction, random_bytes: RandomBytes) -> int:
    """Algorithm 3: a discrete Laplace sample of scale t = floor(sigma) + 1, kept with the right probability."""
    n, d = variance.numerator, variance.denominator
    t = _floor_sqrt(variance) + 1
    while True:
        y = _laplace(t, random_bytes)
        # (|y| - sigma^2 / t)^2 / (2 sigma^2) with sigma^2 = n / d
        if _bernoulli_exp((abs(y) * t * d - n) ** 2, 2 * n * d * t * t, random_bytes):
            return y


def _laplace(t: int, random_bytes: RandomBytes) -> int:
    """Algorithm 2 with s = 1: P(Y = y) proportional to exp(-|y| / t)."""
    while True:
        u = _below(t, random_bytes)
        if not _bernoulli_exp(u, t, random_bytes):
            continue
        v = 0
        while _bernoulli_exp(1, 1, random_bytes):
            v += 1
        y = u + t * v
        negative = bool(_below(2, random_bytes))
        # Zero would come twice as often as it should: from both signs.
        if not (negative and y == 0):
            return -y if negative else y


def _bernoulli_exp(above: int, below: int, random_bytes: RandomBytes) -> bool:
    """Algorithm 1: true with probability exp(-above / below)."""
    whole, rest = divmod(above, below)
    # exp(-(whole + rest)) is a product; most calls end at its first factor.
    return all(_bernoulli_exp_small(1, 1, random_bytes) for _ in range(whole)) and _bernoulli_exp_small(
        rest, below, random_bytes
    )


def _bernoulli_exp_small(above: int, below: int, random_bytes: RandomBytes) -> bool:
    """The part of Algorithm 1 for above / below in 0..1: the series of exp, as a run of Bernoulli trials."""
    k = 1
    while _below(below * k, random_bytes) < above:
        k += 1
    return k % 2 == 1


def _below(limit: int, random_bytes: RandomBytes) -> int:
    """A uniform integer in 0..limit-1: whole bytes, cut to the limit's bits, drawn again where they reach it."""
    bits = (limit - 1).bit_length()
    if bits == 0:
        return 0
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(random_bytes(size), "little") >> (8 * size - bits)
        if drawn < limit:
            return drawn


def _floor_sqrt(variance: Fraction) -> int:
    # floor(sqrt(n / d)) = floor(sqrt(floor(n / d)))
    return isqrt(variance.numerator // variance.denominator)
