"""Shamir's secret sharing of vectors (1979), opened with error correction.

Seat j of 1..c gets the value at j of one polynomial a number, of degree threshold - 1, whose constant term is that
number. Shares of several senders add up to a share of the sum. Any `threshold` correct shares open; fewer are uniform
whatever was shared. More than `threshold` shares form a Reed-Solomon word of several rows with their errors at the
same seats (Gao, A new algorithm for decoding Reed-Solomon codes, 2003). Two such words differ at s + 1 shares at least,
with s = n - threshold extra ones. So up to s wrong shares show, and up to floor(s / 2) are mended, the radius of unique
decoding. Beyond it nothing is promised: the holders of s + 1 - e wrong shares, together, can make e <= floor(s / 2)
right ones look wrong and open another value.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from fgpr.errors import EncodingError, LocalProtocolError, OpeningsContradict
from fgpr.secagg.field import Elements, Field

Polynomial = list[int]
"""Coefficients from the constant upwards, without leading zeros; the zero polynomial is empty."""


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """What was shared, and how well the shares agreed.

    Attributes:
        values: [L].
        disputed: points whose shares were wrong and were left out, rising. A wrong share is no proof against its
            holder: a sender's bad share looks the same, and so does a right one where more were wrong than can be
            mended.
        spare: shares beyond the threshold. The values are right unless at least spare + 1 less the disputed ones of the
            other shares were wrong, so that at 0 one wrong share goes unseen.
    """

    values: Elements = dataclasses.field(repr=False)
    disputed: tuple[int, ...]
    spare: int


def share(field: Field, values: Elements, threshold: int, seats: int, random_bytes: Callable[[int], bytes]) -> Elements:
    """Shares of a vector at the points 1..seats.

    Args:
        field: arithmetic.
        values: [L], the secret numbers.
        threshold: shares that open; the polynomials have degree threshold - 1.
        seats: number of shares, c.
        random_bytes: n -> n bytes of a cryptographic generator.

    Returns:
        [c, L]; row j - 1 is the share of seat j.

    Raises:
        LocalProtocolError: not 1 <= threshold <= seats < modulus.
    """
    if not 1 <= threshold <= seats < field.modulus:
        raise LocalProtocolError(
            f"threshold {threshold} of {seats} seats: 1 <= threshold <= seats < {field.modulus} is needed"
        )
    coefficients = field.uniform((threshold - 1, values.size), random_bytes)
    return field.add(field.values_at(coefficients, np.arange(1, seats + 1, dtype=np.uint64)), values)


def interpolate(field: Field, points: Sequence[int], shares: Elements, threshold: int, *, mend: bool = True) -> Opened:
    """Open a vector from at least `threshold` of its shares.

    Args:
        field: arithmetic.
        points: the seats of the shares, n distinct numbers in 1..modulus-1.
        shares: [n, L], one row a point.
        threshold: as in `share`.
        mend: leave wrong shares out; where more of them may come, none is mended before.

    Returns:
        The values, with up to floor((n - threshold) / 2) wrong shares found and left out.

    Raises:
        LocalProtocolError: fewer distinct points than the threshold, or a point given twice.
        EncodingError: shares of another shape, a point or a share outside the field.
        OpeningsContradict: the shares contradict each other and cannot or must not be mended; more shares may help.
    """
    _check_shares(field, points, shares, threshold)
    spare = len(points) - threshold
    kept = list(range(len(points)))
    while True:
        at = [points[i] for i in kept]
        weights = _weights(field, at)
        column = _first_inconsistent(field, at, weights, shares[kept], threshold)
        if column is None:
            break
        if not mend:
            raise OpeningsContradict(
                f"{len(points)} shares at threshold {threshold} contradict each other at number {column}; every "
                "further opening is waited for before any is left out"
            )
        word = [int(value) for value in shares[kept, column]]
        wrong = _wrong_positions(field, at, word, threshold)
        if wrong is None or len(points) - len(kept) + len(wrong) > spare // 2:
            raise OpeningsContradict(
                f"{len(points)} shares at threshold {threshold} contradict each other at number {column}: "
                f"{spare} to spare mend {spare // 2} wrong ones, and more are wrong; wait for more openings"
            )
        kept = [i for place, i in enumerate(kept) if place not in wrong]
    values = field.total(field.mul(shares[kept], _at_zero(field, at, weights)[:, None]))
    disputed = sorted(set(points) - set(at))
    return Opened(values=values, disputed=tuple(disputed), spare=spare)


def _check_shares(field: Field, points: Sequence[int], shares: Elements, threshold: int) -> None:
    distinct = len(set(points))
    if threshold < 1 or distinct < threshold or distinct < len(points):
        raise LocalProtocolError(
            f"{len(points)} shares of {distinct} different seats: at least {max(threshold, 1)} are needed, each once"
        )
    if not all(1 <= point < field.modulus for point in points):
        raise EncodingError(f"points of shares are 1..{field.modulus - 1}, got {min(points)}..{max(points)}")
    if shares.ndim != 2 or len(shares) != len(points) or shares.dtype != np.uint64:
        raise EncodingError(f"{len(points)} rows of uint64 are needed, not {shares.dtype} of {shares.shape}")
    if np.any(shares >= field.modulus):
        raise EncodingError(f"a share reaches the modulus {field.modulus}")


def _weights(field: Field, points: Sequence[int]) -> Elements:
    """1 / prod_{j != i} (x_i - x_j) for each point, [n]."""
    x = field.array(points)
    factors = field.sub(x[:, None], x[None, :])
    np.fill_diagonal(factors, 1)
    while factors.shape[1] > 1:
        half = factors.shape[1] // 2
        odd = factors[:, 2 * half :]
        factors = np.hstack([field.mul(factors[:, :half], factors[:, half : 2 * half]), odd])
    return field.array(field.inverse(int(product)) for product in factors[:, 0])


def _at_zero(field: Field, points: Sequence[int], weights: Elements) -> Elements:
    """Lagrange coefficients for the value at zero: weight_i * prod_{j != i} (0 - x_j), [n]."""
    product = 1
    for point in points:
        product = product * -point % field.modulus
    others = field.array(product * field.inverse(-point) % field.modulus for point in points)
    return field.mul(weights, others)


def _first_inconsistent(
    field: Field, points: Sequence[int], weights: Elements, shares: Elements, threshold: int
) -> int | None:
    """The first number whose shares are on no polynomial of degree below the threshold, or None."""
    # Parity check of the code: sum_i weight_i x_i^k y_i = 0 for k = 0..n-t-1, on all such polynomials and only there.
    x = field.array(points)[:, None]
    scaled = field.mul(shares, weights[:, None])
    bad = np.zeros(shares.shape[1], dtype=bool)
    for _ in range(len(points) - threshold):
        bad |= field.total(scaled) != 0
        scaled = field.mul(scaled, x)
    return int(np.argmax(bad)) if bad.any() else None


def _wrong_positions(field: Field, points: Sequence[int], word: Sequence[int], threshold: int) -> set[int] | None:
    """Places where one number's shares leave the one polynomial within reach, or None where there is none (Gao)."""
    p, n = field.modulus, len(points)
    above, below = _interpolating(field, points, word)
    before: Polynomial = []
    cofactor: Polynomial = [1]
    # Partial extended Euclid: stops at the first remainder of degree below (n + t) / 2.
    while 2 * (len(below) - 1) >= n + threshold:
        quotient, rest = _divide(field, above, below)
        above, below = below, rest
        before, cofactor = cofactor, _minus_product(before, quotient, cofactor, p)
    polynomial, rest = _divide(field, below, cofactor)
    if rest or len(polynomial) > threshold:
        return None
    return {i for i, point in enumerate(points) if _evaluate(polynomial, point, p) != word[i]}


def _interpolating(field: Field, points: Sequence[int], word: Sequence[int]) -> tuple[Polynomial, Polynomial]:
    """prod_i (X - x_i), and the polynomial of degree below n through all (x_i, word_i) (Newton's form)."""
    p = field.modulus
    product: Polynomial = [1]
    through: Polynomial = []
    for point, value in zip(points, word, strict=True):
        gap = (value - _evaluate(through, point, p)) * field.inverse(_evaluate(product, point, p)) % p
        through = _minus_product(through, [-gap % p], product, p)
        product = _minus_product([0, *product], [point], product, p)
    return product, through


def _evaluate(polynomial: Polynomial, point: int, p: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * point + coefficient) % p
    return value


def _minus_product(a: Polynomial, b: Polynomial, c: Polynomial, p: int) -> Polynomial:
    """The polynomial a - b c."""
    result = a + [0] * (len(b) + len(c) - 1 - len(a))
    for i, left in enumerate(b):
        for j, right in enumerate(c):
            result[i + j] -= left * right
    return _trimmed([coefficient % p for coefficient in result])


def _divide(field: Field, a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder of a / b."""
    p, rest = field.modulus, list(a)
    lead = field.inverse(b[-1])
    quotient = [0] * max(0, len(a) - len(b) + 1)
    for shift in reversed(range(len(quotient))):
        factor = rest[shift + len(b) - 1] * lead % p
        quotient[shift] = factor
        for i, coefficient in enumerate(b):
            rest[shift + i] = (rest[shift + i] - factor * coefficient) % p
    return quotient, _trimmed(rest)


def _trimmed(polynomial: Polynomial) -> Polynomial:
    while polynomial and polynomial[-1] == 0:
        polynomial.pop()
    return polynomial
