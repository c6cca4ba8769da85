"""The committee of a round: how many seats, who sits on them, how many openings it takes.

Letters of docs/protocol.md: c seats, x of them corrupt at most, threshold t, K of the invited corrupt at most. With
t = floor((2c + x) / 3) + 1 at least t - x honest members have to answer alike, more than two thirds of the c - x. Half
of them would already keep two cohorts from being opened; from two thirds on nothing is learned either from answers to
different cohorts, none of which t members gave (docs/protocol.md, Why it holds).

gamma and delta are floats in a plan; they count as the decimals that are written there, so that a share of 0.29 of
100 clients is 29 on every machine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, floor

from fgpr import canonical
from fgpr.errors import CommitteeError

SEAT = "fgpr-v1/seat"
"""Label of the draw of seats."""

INVITED = "fgpr-v1/invited"
"""Label of the draw of invited clients."""

FAILURE_BITS = 40
"""A draw has more corrupt clients than assumed with a probability of at most 2^-40."""

DRAWS = 1024
"""Different draws of one label that a roster's nonce gives: more versions of theta repeat them, so that no operator
can wait for a bad one. Seats and invited together fail with 2 * 1024 * 2^-40 = 2^-29 a roster at most where the caps
are those of earlier plans; a client's first plan may have been made with caps that suit (docs/protocol.md)."""


@dataclass(frozen=True)
class Committee:
    """The numbers of a round's committee and cohort.

    Attributes:
        seats: c, empty ones included.
        corrupt_seats: x, seats that may be corrupt.
        threshold: t, openings that open.
        corrupt_invited: K, invited clients that may be corrupt.
        corrupt_group: K of one group, where the invited are dealt to several; else K. min_cohort is above it.
        min_cohort: fewest contributions that may be opened together: of the cohort, or of each group.
        spare: openings above the threshold that are waited for until the deadline.
    """

    seats: int
    corrupt_seats: int
    threshold: int
    corrupt_invited: int
    corrupt_group: int
    min_cohort: int
    spare: int

    @property
    def carriers(self) -> int:
        """Honest clients that every cohort has: min_cohort - K."""
        return self.min_cohort - self.corrupt_invited


def size(
    *,
    seats: int,
    servants: int,
    invited: int,
    admitted: int,
    gamma: float,
    delta: float,
    min_cohort: int | None = None,
    corrupt_invited: int | None = None,
    groups: int = 1,
) -> Committee:
    """The numbers of a round.

    Args:
        seats: c.
        servants: clients that may serve; the seats are all of them or drawn from them.
        invited: clients that are invited.
        admitted: clients that could be; the invited are all of them or drawn from them.
        gamma: assumed share of corrupt clients, in 0..1.
        delta: share of the seats that the round must be able to miss, in 0..1.
        corrupt_invited: K where the invited are drawn by weight; None counts heads.
        min_cohort: fewest contributions to open together; None is K + 2.
        groups: G, to which the invited are dealt; each is opened apart, so that K is that of one group.

    Raises:
        CommitteeError: the committee could miss fewer than floor(delta * c) members, a cohort or group could have fewer
            than two honest clients, nobody could fill it, or the numbers make no sense.
    """
    x = max_corrupt(seats, servants, gamma)
    k = max_corrupt(invited, admitted, gamma) if corrupt_invited is None else corrupt_invited
    t = threshold(seats, x)
    missable, wanted = seats - t, floor(exact_share("delta", delta) * seats)
    if missable < wanted:
        raise CommitteeError(
            f"{seats} seats of {servants} with {x} corrupt have threshold {t} and can miss {missable} members; delta "
            f"{delta} asks for {wanted}: more seats are needed (clients that serve, committee_cap) or a lower "
            "delta or gamma"
        )
    together = max_corrupt_in_group(invited, k, groups)
    if min_cohort is None:
        min_cohort = together + 2
    if min_cohort < together + 2:
        of = f"of {invited} invited" if groups == 1 else f"in one of {groups} groups of {invited} invited"
        raise CommitteeError(
            f"min_cohort {min_cohort} with {together} corrupt {of} leaves fewer than 2 honest clients; it "
            f"must be at least {together + 2}"
        )
    if groups > 1 and min_cohort > invited // groups:
        raise CommitteeError(
            f"{invited} invited clients dealt to {groups} groups are {invited // groups} in the smallest, and "
            f"min_cohort is {min_cohort} with {together} corrupt in one group: fewer groups, more clients, or a lower "
            "gamma"
        )
    if min_cohort > invited:
        raise CommitteeError(f"min_cohort {min_cohort} is more than the {invited} invited clients")
    return Committee(seats, x, t, k, together, min_cohort, spare=1 + seats // 20)


def threshold(seats: int, corrupt: int) -> int:
    """t: the openings that it takes, floor((2c + x) / 3) + 1, the least with 3 (t - x) > 2 (c - x)."""
    return (2 * seats + corrupt) // 3 + 1


@lru_cache(maxsize=1024)
def max_corrupt(count: int, population: int, gamma: float) -> int:
    """Corrupt clients to expect at most among `count` that are all of `population`, or are drawn from it.

    max(1, floor(gamma * count)) where nobody is drawn; else the smallest number, at least 1, that the hypergeometric
    distribution exceeds with a probability of at most 2^-40, computed in integers.

    Raises:
        CommitteeError: not 1 <= count <= population, or gamma outside 0..1.
    """
    corrupt = _corrupt(count, population, gamma)
    if count == population:
        return corrupt
    everything, tail = comb(population, count), 0
    for number, ways in _ways(count, population, corrupt):
        tail += ways
        if tail << FAILURE_BITS > everything:
            return max(1, number)
    return 1


@lru_cache(maxsize=1024)
def max_corrupt_in_group(invited: int, corrupt: int, groups: int) -> int:
    """Corrupt clients to expect at most in any of the groups to which the invited are dealt by chance.

    Any of G groups holds more with a probability of at most 2^-40 together: the hypergeometric tail of one, times G.

    Args:
        invited: how many are dealt.
        corrupt: K, how many of them may be corrupt.
        groups: G; with one group all may be in it.

    Returns:
        At least 1.
    """
    if groups == 1:
        return corrupt
    largest = -(-invited // groups)
    everything, tail = comb(invited, largest), 0
    for number in range(min(largest, corrupt), 0, -1):
        tail += groups * comb(corrupt, number) * comb(invited - corrupt, largest - number)
        if tail << FAILURE_BITS > everything:
            return number
    return 1


def failure_probability(count: int, population: int, gamma: float, corrupt: int) -> float:
    """Probability that `count` clients of `population` hold more than `corrupt` corrupt ones; raises as `max_corrupt`.

    The corrupt of the population, max(1, floor(gamma * population)), are fixed before the draw.
    """
    among = _corrupt(count, population, gamma)
    if count == population:
        return float(among > corrupt)
    tail = sum(ways for number, ways in _ways(count, population, among) if number > corrupt)
    return float(Fraction(tail, comb(population, count)))


def draw(names: Sequence[str], count: int, nonce: bytes, theta_version: int, label: str) -> tuple[str, ...]:
    """The seats or the invited clients of a round.

    All where they are at most `count`; else the `count` whose H(nonce, theta_version mod 1024, client) is least.

    Args:
        names: client ids to draw from, each once.
        count: most to draw.
        nonce: of the roster, drawn when its members were fixed.
        theta_version: the prior version that first carried this theta.
        label: `SEAT` or `INVITED`; the two draws are independent.

    Returns:
        The drawn ids in order.

    Raises:
        CommitteeError: a client twice, or a count below 1 for names to draw from.
    """
    if len(set(names)) < len(names):
        raise CommitteeError("a client stands twice among those to draw from")
    if names and count < 1:
        raise CommitteeError(f"cannot draw {count} of {len(names)} clients; at least 1")
    if len(names) <= count:
        return tuple(sorted(names))
    ranked = sorted(names, key=hashing(nonce, theta_version, label))
    return tuple(sorted(ranked[:count]))


def hashing(nonce: bytes, theta_version: int, label: str) -> Callable[[str], bytes]:
    """From a client to the hash by which it is drawn, H(nonce, theta_version mod 1024, client), 32 bytes."""
    # The canonical JSON of client, nonce and theta_version, in which only the client differs: keys stand in order.
    rest = canonical.encode({"nonce": canonical.to_text(nonce), "theta_version": theta_version % DRAWS})[1:]

    def hashed(name: str) -> bytes:
        return canonical.digest_of_encoded(label, b'{"client":' + canonical.encode(name) + b"," + rest)

    return hashed


def exact_share(name: str, share: float) -> Fraction:
    """A share of a plan as the decimal that is written there.

    Raises:
        CommitteeError: it is outside 0..1.
    """
    try:
        exact = Fraction(str(share))
    except ValueError as error:
        raise CommitteeError(f"{name} is {share}; a number from 0 to below 1 is needed") from error
    if not 0 <= exact < 1:
        raise CommitteeError(f"{name} is {share}; a number from 0 to below 1 is needed")
    return exact


def _corrupt(count: int, population: int, gamma: float) -> int:
    if not 1 <= count <= population:
        raise CommitteeError(f"{count} of {population} clients: at least 1 and at most all are needed")
    return max(1, floor(exact_share("gamma", gamma) * population))


def _ways(count: int, population: int, corrupt: int) -> Iterator[tuple[int, int]]:
    """(number, draws with exactly that many corrupt), from the largest possible number down to 0."""
    number = min(count, corrupt)
    ways = comb(corrupt, number) * comb(population - corrupt, count - number)
    while number >= 0:
        yield number, ways
        # The quotient of neighbouring terms, which costs less than two fresh binomials.
        ways = ways * number * (population - corrupt - count + number)
        number -= 1
        ways //= (corrupt - number) * (count - number)
