"""The aggregator's part where the clients are dealt to groups: closing, checking openings, unmasking."""

import numpy as np
import pytest

from fgpr.errors import EncodingError, OpeningsContradict, RemoteProtocolError, SumRefused
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Opening
from fgpr.secagg.planning import AggregationRules
from support import malice
from support.federation import Federation

MADE = Federation(20, AggregationRules(groups=3, combine="median"))
PLAN = MADE.plan().message
"""Groups of 7, 7 and 6, each with six clients at least; threshold 15."""

PARTS = PLAN.parts(MADE.names)
for _name in MADE.names:
    MADE.contribute(_name, np.full(3, 0.5), 2)
HEADERS = {name: sent.header.message for name, sent in MADE.now.contributions.items()}
MASKED = {name: sent.masked for name, sent in MADE.now.contributions.items()}
MADE.close()
assert MADE.now.cohort is not None
COHORT = MADE.now.cohort.message
ANSWERS = [MADE.open(name) for name in MADE.names]


def closed(*gone: str, opened: tuple[frozenset[str], ...] = (), least: int = 0) -> list[int] | None:
    """How many of each group are counted without these."""
    headers = {name: header for name, header in HEADERS.items() if name not in gone}
    cohort = opening.close(PLAN, PLAN.digest(), headers, PLAN.checkpoint, opened, least)
    return None if cohort is None else [len(part) for part in PLAN.parts(cohort.clients())]


def test_all_of_three_groups_are_needed() -> None:
    assert closed() == [7, 7, 6]
    assert closed(PARTS[0][3], PARTS[1][6]) == [6, 6, 6]
    assert closed(PARTS[2][0]) is None
    assert closed(*PARTS[0][:2]) is None


def test_after_a_carry_each_group_keeps_its_own_distance() -> None:
    before = frozenset(MADE.names)
    assert closed(opened=(before,), least=6) == [7, 7, 6]
    # Leaving five more out for one that is missing would leave too few of its group.
    assert closed(PARTS[0][0], opened=(before,), least=6) is None
    assert closed(PARTS[0][0], opened=(before,), least=1) == [6, 7, 6]
    # Who was not counted then is not counted now; the groups of the others do not care.
    assert closed(opened=(before - {PARTS[1][2]},), least=6) == [7, 6, 6]


def lie_about(place: int, number: int) -> Opening:
    """The opening of this member with one word of this group's sum changed."""
    message = ANSWERS[place].message
    total = FIELD.from_bytes(message.sum, 12)
    total[4 * number] = FIELD.add(total[4 * number : 4 * number + 1], np.array([1], dtype=np.uint64))[0]
    return message.model_copy(update={"sum": FIELD.to_bytes(total)})


def check(message: Opening, counted: tuple[str, ...]) -> None:
    cohort = MADE.cohort_of(counted).message
    asked = message.model_copy(update={"cohort": cohort.digest()})
    signed = Signed[Opening].make(MADE.clients[message.client].identity_key, asked)
    opening.check_opening(PLAN, MADE.roster.message, cohort, signed)


def test_a_group_of_nobody_is_opened_with_zeros_and_nothing_else() -> None:
    answer = ANSWERS[4].message
    check(answer, MADE.names)
    two = tuple(sorted(PARTS[0] + PARTS[2]))
    with pytest.raises(RemoteProtocolError, match="sum of zeros"):
        check(answer, two)
    check(answer.model_copy(update={"sum": answer.sum[:32] + bytes(32) + answer.sum[64:]}), two)
    check(answer.model_copy(update={"sum": bytes(96)}), ())
    with pytest.raises(RemoteProtocolError, match="sum of zeros"):
        check(answer, ())
    for words in (4, 8, 16):
        with pytest.raises(EncodingError, match="words"):
            check(answer.model_copy(update={"sum": bytes(8 * words)}), MADE.names)


def unmask(answers: list[Opening], *, last_chance: bool = True) -> opening.Unmasked:
    return opening.unmask(PLAN, COHORT, MASKED, answers, last_chance=last_chance)


def test_each_group_mends_what_is_wrong_in_it() -> None:
    # Five to spare mend two in a group: six in all.
    lies = {place: lie_about(place, place % 3) for place in range(6)}
    found = unmask([lies.get(place, answer.message) for place, answer in enumerate(ANSWERS)])
    np.testing.assert_allclose(found.average, [0.5] * 3, atol=1e-8)
    assert (found.disputed, found.refused, found.spare) == (MADE.names[:6], (), 5)


def test_a_group_beyond_mending_is_waited_for_and_then_left_out() -> None:
    answers = [lie_about(place, 1) if place < 4 else answer.message for place, answer in enumerate(ANSWERS)]
    with pytest.raises(OpeningsContradict):
        unmask(answers, last_chance=False)
    found = unmask(answers)
    np.testing.assert_allclose(found.average, [0.5] * 3, atol=1e-8)
    assert (found.disputed, found.refused, found.total_weight) == ((), (2,), 2 * 13)
    assert not found.vector[4:8].any()
    assert found.vector[:4].any()


def test_two_of_three_groups_beyond_mending_refuse_the_sum() -> None:
    answers = [lie_about(place, place // 4) if place < 8 else answer.message for place, answer in enumerate(ANSWERS)]
    with pytest.raises(SumRefused, match="half of the groups or more"):
        unmask(answers)


def test_a_wrong_sum_of_one_member_shows_in_the_group_that_it_is_about() -> None:
    key = MADE.clients["client-03"].identity_key
    lie = malice.with_sum(ANSWERS[3], 7, key).message
    found = unmask([lie if answer.message.client == "client-03" else answer.message for answer in ANSWERS])
    assert found.disputed == ("client-03",)
