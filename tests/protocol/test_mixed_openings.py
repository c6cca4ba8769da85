"""A limit of the counting argument: openings of several cohorts of one plan add up (docs/protocol.md, Why it holds)."""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr.message import Signed
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.messages import Cohort
from support import malice
from support.federation import Federation

WEIGHTS = (5, 7, 3, 11, 2, 13)


def at_zero(points: list[int]) -> dict[int, int]:
    """Lagrange coefficients for the value at 0."""
    found = {}
    for i in points:
        value = 1
        for k in points:
            if k != i:
                value = value * -k * pow(i - k, -1, MERSENNE_61) % MERSENNE_61
        found[i] = value
    return found


def test_three_cohorts_without_t_answers_each_give_a_combination_of_two_sums() -> None:
    # Six members, t = 4; client-00 is the aggregator's, and with it every share that client-00 made or got.
    made = Federation(6)
    plan = made.plan().message
    corrupt, a, b, c, d, last = made.names
    seats = {name: seat for seat, name in enumerate(made.names, start=1)}
    for name, weight in zip(made.names, WEIGHTS, strict=True):
        made.contribute(name, np.zeros(3), weight)
    cohorts = {(a, b): made.cohort_of((corrupt, a, b)), (c, d): made.cohort_of((corrupt, c, d))}
    both = made.cohort_of((corrupt, a, b, c, d))

    def share(sender: str, member: str) -> int:
        key = made.clients[member].member(plan).opening_key
        assert isinstance(key, X25519PrivateKey)
        box = malice.opened(plan, made.clients[sender], seats[member], made.now.contributions[sender], key)
        return int(FIELD.from_bytes(box, 4)[3])

    # Shares of weights, the corrupt client's own taken off.
    own = {name: share(corrupt, name) for name in made.names}

    def answer(member: str, cohort: Signed[Cohort]) -> int:
        signed = made.ask(member, made.view(member, cohort))
        return int(FIELD.from_bytes(signed.message.sum, 4)[3]) - own[member]

    known, factor = {}, {}
    for pair, cohort in cohorts.items():
        points = {seats[name]: answer(name, cohort) for name in pair}
        points[seats[corrupt]] = sum(share(name, corrupt) for name in pair)
        assert len(points) == plan.threshold - 1
        lagrange = at_zero([*points, seats[last]])
        masked = sum(int(FIELD.from_bytes(made.now.contributions[name].masked, 4)[3]) for name in pair)
        # masked - mask = weight of the pair, and the mask lacks one point only.
        inverse = pow(lagrange.pop(seats[last]), -1, MERSENNE_61)
        known[pair] = (masked - sum(lagrange[at] * value for at, value in points.items())) * inverse
        factor[pair] = inverse
    learned = (sum(known.values()) - answer(last, both)) % MERSENNE_61
    weights = {(a, b): 7 + 3, (c, d): 11 + 2}
    assert learned == sum(factor[pair] * weights[pair] for pair in cohorts) % MERSENNE_61
