"""What answers to different cohorts of one plan give away together, by linear algebra over a prime field.

Every client's mask is f(0) of a polynomial f of its own, uniform among those of degree below t. Whoever pools what a
malicious aggregator and its members hold knows sums of such polynomials at seats, and nothing else of them; it learns
of the updates what combinations of these sums are combinations of masks alone, and no more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr.secagg.contributor import FIELD
from support import malice
from support.federation import Federation


@dataclass(frozen=True)
class Seen:
    """The sum, at one seat, of the polynomials of some clients: a corrupt member's share, or an honest one's answer."""

    seat: int
    clients: frozenset[str]
    value: int = 0


@dataclass(frozen=True)
class Learned:
    """A combination of masks that is known: coefficients by client, none of them zero, and its value."""

    masks: Mapping[str, int]
    value: int


def learned(modulus: int, threshold: int, seen: Iterable[Seen]) -> list[Learned]:
    """A basis of all combinations of masks that follow from what was seen, each with a first coefficient of 1."""
    lines = list(seen)
    clients = sorted(set[str]().union(*(line.clients for line in lines)))
    # A row: the coefficients of each power of each polynomial, the highest powers first and the masks last; the value.
    rows = []
    for line in lines:
        powers = [pow(line.seat, power, modulus) for power in range(threshold)[::-1]]
        rows.append([power * (name in line.clients) for power in powers for name in clients] + [line.value])
    hidden = (threshold - 1) * len(clients)
    combinations = _reduced(rows, modulus, hidden)
    return [
        Learned({name: factor for name, factor in zip(clients, masks, strict=False) if factor}, masks[-1])
        for masks in combinations
    ]


def _reduced(rows: list[list[int]], modulus: int, hidden: int) -> list[list[int]]:
    """Gaussian elimination: the combinations of the rows that begin with so many zeros, in reduced echelon form.

    The last column is that of values and takes part in no choice of a pivot. What is given back begins after the zeros.
    """
    done = kept = 0
    for column in range(len(rows[0]) - 1):
        if column == hidden:
            kept = done
        pivot = next((at for at in range(done, len(rows)) if rows[at][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        inverse = pow(rows[done][column], -1, modulus)
        rows[done] = [value * inverse % modulus for value in rows[done]]
        # Above the pivot it matters in what is given back only.
        for at in [*range(kept if column >= hidden else done, done), *range(done + 1, len(rows))]:
            if factor := rows[at][column]:
                rows[at] = [(one - factor * other) % modulus for one, other in zip(rows[at], rows[done], strict=True)]
        done += 1
    return [row[hidden:] for row in rows[kept:done]]


def pooled(
    federation: Federation, corrupt: Iterable[str], counted: Mapping[str, Iterable[str]], number: int
) -> list[Seen]:
    """What an aggregator has of one number of the newest round, with these members' keys.

    Args:
        federation: the aggregator, with the openings that it got.
        corrupt: clients that show it their boxes.
        counted: for each honest member that answered, whom the cohort counts that it answered.
        number: which of the encoded numbers, from 0; the last one is the weight.
    """
    state, plan = federation.now, federation.now.plan.message
    lines = []
    for member in corrupt:
        key, seat = federation.clients[member].member(plan).opening_key, plan.seat_of(member)
        assert isinstance(key, X25519PrivateKey)
        assert seat is not None
        for name, made in state.contributions.items():
            box = malice.opened(plan, federation.clients[name], seat, made, key)
            lines.append(Seen(seat, frozenset([name]), _number(box, number)))
    for member, names in counted.items():
        seat = plan.seat_of(member)
        assert seat is not None
        lines.append(Seen(seat, frozenset(names), _number(state.openings[member].message.sum, number)))
    return lines


def unmasked(federation: Federation, what: Learned, number: int) -> int:
    """The same combination of what the clients encoded: of masked numbers, less that of the masks."""
    stored = federation.now.contributions
    masked = sum(factor * _number(stored[name].masked, number) for name, factor in what.masks.items())
    return (masked - what.value) % FIELD.modulus


def _number(words: bytes, number: int) -> int:
    return int(FIELD.from_bytes(words, len(words) // 8)[number])
