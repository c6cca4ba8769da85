"""The draw of invited clients in proportion to their declared weights, and how many corrupt ones it can bring.

Each client runs an exponential race: -ln(u) / weight with u from the hash of the draw; the least are drawn (Efraimidis
and Spirakis 2006, algorithm A). That is a draw one after another without replacement, each time in proportion to the
weights that are left. Every machine must find the same clients, so nothing here is a float: logarithm and quotient are
decimals of 60 digits, both correctly rounded by the standard (General Decimal Arithmetic, `ln` and `divide`), and ties
go to the lower client id. The probabilities differ from the exact ones by less than 1 in 10^40.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from functools import lru_cache
from math import ceil

from fgpr.errors import CommitteeError
from fgpr.secagg import committee
from fgpr.secagg.committee import FAILURE_BITS

DIGITS = 60
"""Significant decimal digits of u, its logarithm and the quotient."""

_SHARE_BITS = 48
"""A probability is rounded up to a multiple of 2^-48 before the tail is summed in integers."""


def draw(weights: Mapping[str, int], count: int, nonce: bytes, theta_version: int, label: str) -> tuple[str, ...]:
    """`count` clients in proportion to their weights; all where they are not more.

    Args:
        weights: declared weight of each client to draw from, at least 1.
        count: most to draw.
        nonce: of the roster, drawn when its members and their weights were fixed.
        theta_version: the prior version that first carried this theta.
        label: as in `committee.draw`.

    Returns:
        The drawn ids in order.

    Raises:
        CommitteeError: a weight or a count below 1.
    """
    if weights and count < 1:
        raise CommitteeError(f"cannot draw {count} of {len(weights)} clients; at least 1")
    light = [client for client, weight in weights.items() if weight < 1]
    if light:
        raise CommitteeError(f"{', '.join(light[:3])}: a declared weight is at least 1")
    if len(weights) <= count:
        return tuple(sorted(weights))
    hashed = committee.hashing(nonce, theta_version, label)
    ranked = sorted(weights, key=lambda client: (rank(hashed(client), weights[client]), client))
    return tuple(sorted(ranked[:count]))


def rank(hashed: bytes, weight: int) -> Decimal:
    """-ln(u) / weight with u = (2 h + 1) / 2^257, h the hash as a big-endian integer; 60 digits, rounded half to even.

    Args:
        hashed: 32 bytes.
        weight: at least 1.
    """
    # Not the thread's context: whoever changed that would draw others.
    context = Context(
        prec=DIGITS, rounding=ROUND_HALF_EVEN, traps=[InvalidOperation, DivisionByZero, Overflow], Emin=-999, Emax=999
    )
    u = context.divide(Decimal(2 * int.from_bytes(hashed, "big") + 1), Decimal(2 << 8 * len(hashed)))
    return context.divide(context.ln(u).copy_negate(), Decimal(weight))


@lru_cache(maxsize=64)
def max_corrupt(count: int, weights: tuple[int, ...], gamma: float) -> int:
    """K: corrupt clients to expect at most among `count` drawn by weight; they hold gamma of the weight, or are one.

    However it chose them before the draw, the j-th drawn is corrupt with a probability of at most p_j = gamma W /
    (W - T_(j-1)), whoever was drawn before: W is the whole weight, T_(j-1) that of the j - 1 heaviest clients. So their
    number is stochastically at most a sum of independent trials of p_1, ..., p_n, whose tail above any whole number
    that is not below its mean is at most the binomial one of the mean p (Hoeffding 1956, theorem 4). K is the smallest
    such number with a tail of at most 2^-40, but not more than clients fit into gamma W, and at least 1. Where nobody
    is drawn, K is the number that fits. Computed in integers.

    Args:
        count: drawn clients.
        weights: of all that they are drawn from.
        gamma: assumed corrupt share of the weight, in 0..1.

    Raises:
        CommitteeError: not 1 <= count <= len(weights), a weight below 1, or gamma outside 0..1.
    """
    if not 1 <= count <= len(weights):
        raise CommitteeError(f"{count} of {len(weights)} clients: at least 1 and at most all are needed")
    if min(weights) < 1:
        raise CommitteeError("a declared weight is at least 1")
    corrupt = committee.exact_share("gamma", gamma) * sum(weights)
    fitting = _fitting(weights, corrupt)
    if fitting <= 1:
        return 1
    if count == len(weights):
        return fitting
    return min(fitting, _binomial_bound(_shares(count, weights, corrupt)))


def _fitting(weights: tuple[int, ...], limit: Fraction) -> int:
    """The most clients that weigh at most `limit` together: the lightest ones."""
    together, number = 0, 0
    for weight in sorted(weights):
        together += weight
        if together > limit:
            break
        number += 1
    return number


def _shares(count: int, weights: tuple[int, ...], corrupt: Fraction) -> list[int]:
    """p_1..p_n in multiples of 2^-48, rounded up."""
    left, shares = sum(weights), []
    for heaviest in sorted(weights, reverse=True)[:count]:
        shares.append(min(1 << _SHARE_BITS, ceil(corrupt * (1 << _SHARE_BITS) / left)))
        left -= heaviest
    return shares


def _binomial_bound(shares: list[int]) -> int:
    """The smallest number, not below the mean, that so many trials exceed with a probability of at most 2^-40."""
    count, mean = len(shares), Fraction(sum(shares), 1 << _SHARE_BITS)
    hit = ceil(Fraction(sum(shares), count))
    miss = (1 << _SHARE_BITS) - hit
    everything, tail, term = 1 << _SHARE_BITS * count, 0, hit**count
    for number in range(count, 0, -1):
        tail += term
        if tail << FAILURE_BITS > everything:
            return max(number, ceil(mean))
        # The quotient of neighbouring terms; both are whole.
        term = term * number * miss // ((count - number + 1) * hit)
    return ceil(mean)
