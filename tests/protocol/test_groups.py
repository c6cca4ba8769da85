"""Rounds whose cohort is dealt to groups: each opened apart, few liars outvoted, one bad group stops nobody."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fgpr.errors import (
    EncodingError,
    OpeningsContradict,
    RemoteProtocolError,
    SumRefused,
)
from fgpr.message import Signed
from fgpr.secagg import opening
from fgpr.secagg.contributor import FIELD, contribute
from fgpr.secagg.encoding import Encoded
from fgpr.secagg.messages import Opening
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support import malice
from support.client import NAME
from support.federation import SPEC, Federation
from support.groups import FIVE, audited, averages, federation, mean, run, updates


@pytest.mark.parametrize("rules", [FIVE, FIVE.model_copy(update={"combine": "trimmed-mean"})], ids=lambda r: r.combine)
def test_the_prior_is_the_combination_of_the_groups_averages(rules: AggregationRules) -> None:
    made = federation(rules)
    for seed in (3, 4):
        given = updates(made, seed)
        record = run(made, given)
        rows = np.sort(averages(made, given), axis=0)
        assert len(rows) == 5
        expected = rows[2] if rules.combine == "median" else rows[1:4].mean(axis=0)
        half = (np.array(SPEC.bounds.upper) - np.array(SPEC.bounds.lower)) / (2**30 - 1) / 2
        assert np.all(np.abs(record.vector() - expected) <= half + 1e-15)
        assert record.opened is not None
        assert record.opened.total_weight == sum(weight for _, weight in given.values())
        assert len(record.opened.sum) == 5 * 4 * 8
    assert [key for key, _ in audited(made).priors.items()] == [(NAME, 0), (NAME, 1), (NAME, 2)]


def test_the_deal_of_another_theta_is_another_deal() -> None:
    made = federation()
    deals = []
    for _ in range(3):
        run(made, updates(made))
        deals.append(made.now.plan.message.dealt)
    assert all(one != other for one, other in pairwise(deals))


def left_out(made: Federation, groups: int) -> list[str]:
    """Two clients each of so many groups: those groups fall below the least of four."""
    parts = made.now.plan.message.parts(made.names)
    return [name for part in parts[:groups] for name in part[:2]]


@pytest.mark.parametrize("groups", [0, 1, 2])
def test_a_group_in_which_too_few_come_is_left_out_whole(groups: int) -> None:
    made, given = federation(), {}
    made.plan()
    gone = left_out(made, groups)
    given = {name: update for name, update in updates(made).items() if name not in gone}
    for name, (values, weight) in given.items():
        made.contribute(name, np.array(values), weight)
    cohort = made.close()
    assert cohort is not None
    assert len(cohort.members) == 5 * (5 - groups)
    for name in made.names:
        made.open(name)
    record = made.finish()
    np.testing.assert_allclose(record.theta, np.median(averages(made, given), axis=0), atol=1e-7)
    assert record.opened is not None
    assert not any(record.opened.sum[: groups * 32])
    audited(made)


def test_with_too_few_groups_nothing_is_opened() -> None:
    made = federation()
    made.plan()
    gone = left_out(made, 3)
    for name in made.names:
        if name not in gone:
            made.contribute(name, np.zeros(3))
    assert made.close() is None
    assert made.now.stage is Stage.ABORTED
    for name in made.names:
        made.open(name)
    assert made.settle() is Stage.VOID


def lying(made: Federation, name: str, vector: list[int]) -> None:
    """A well-formed contribution that masks any vector at all."""
    client, checked = made.clients[name], made.check(name)
    encoded = Encoded(np.array(vector, dtype=np.uint64), 1, (), False)
    codec = type("Lie", (), {"encode": lambda *_: encoded, "length": 4})()
    sent = contribute(replace(checked, codec=codec), name, client.identity_key, np.zeros(3), 1, made.random_bytes)
    made.receive(sent.contribution)


LARGEST = 2**30 - 1


@pytest.mark.parametrize("liars", [0, 1, 2, 3])
def test_liars_in_range_are_outvoted_while_they_are_fewer_than_half_of_the_groups(liars: int) -> None:
    made, given = federation(), {}
    made.plan()
    parts = made.now.plan.message.parts(made.names)
    lie = [part[0] for part in parts[:liars]]
    for name, (values, weight) in (given := updates(made)).items():
        if name in lie:
            # Everything at its upper bound, with the largest weight.
            lying(made, name, [65_535 * LARGEST] * 3 + [65_535])
        else:
            made.contribute(name, np.array(values), weight)
    made.close()
    for name in made.names:
        made.open(name)
    theta = made.finish().vector()
    honest = np.array([mean([given[name] for name in part]) for part in parts[liars:]])
    inside = np.all((theta >= honest.min(axis=0) - 1e-7) & (theta <= honest.max(axis=0) + 1e-7))
    assert inside == (liars < 3)
    audited(made)


@pytest.mark.parametrize("vector", [[2**61 - 2**50, 0, 0, 1], [0, 0, 0, 2**61 - 2**45], [7, 7, 7, 2**40]])
def test_a_group_with_a_sum_that_cannot_be_honest_is_left_out_and_the_others_publish(vector: list[int]) -> None:
    made = federation()
    made.plan()
    parts = made.now.plan.message.parts(made.names)
    liars, given = {parts[1][0], parts[3][2]}, updates(made)
    for name, (values, weight) in given.items():
        if name in liars:
            lying(made, name, vector)
        else:
            made.contribute(name, np.array(values), weight)
    made.close()
    for name in made.names:
        made.open(name)
    record = made.finish()
    assert made.now.unmasked is not None
    assert made.now.unmasked.refused == (2, 4)
    assert made.now.unmasked.total_weight == sum(given[name][1] for number in (0, 2, 4) for name in parts[number])
    np.testing.assert_allclose(record.theta, np.median(averages(made, given)[[0, 2, 4]], axis=0), atol=1e-7)
    audited(made)


def test_three_such_groups_of_five_refuse_the_round() -> None:
    made = federation()
    made.plan()
    parts = made.now.plan.message.parts(made.names)
    for name in made.names:
        if name in {part[0] for part in parts[:3]}:
            lying(made, name, [0, 0, 0, 2**50])
        else:
            made.contribute(name, np.zeros(3))
    made.close()
    for name in made.names:
        made.open(name)
    with pytest.raises(SumRefused, match=r"half of the groups or more .* group 1: total weight"):
        made.finish()


WRONG = FIELD.to_bytes(FIELD.array([1, 2, 3, 4]))


def bad_shares(made: Federation, bad: Mapping[str, Iterable[int]]) -> dict[str, tuple[list[float], int]]:
    """A closed round in which some clients sent shares that open and are wrong, to these seats."""
    made.plan()
    for name, (values, weight) in (given := updates(made)).items():
        made.contribute(name, np.array(values), weight)
        for seat in bad.get(name, ()):
            client = made.clients[name]
            box = malice.box_of(made.now.plan.message, client, seat, WRONG)
            made.receive(malice.with_box(made.now.contributions[name], seat, box, client.identity_key))
    made.close()
    for name in made.names:
        made.open(name)
    return given


def test_wrong_shares_in_different_groups_are_mended_apart() -> None:
    # Threshold 19 of 25: six to spare mend three in each group, where one sum would be lost with six.
    made = federation()
    made.plan()
    first, second = (part[0] for part in made.now.plan.message.parts(made.names)[:2])
    made.rounds.clear()
    given = bad_shares(made, {first: range(1, 4), second: range(4, 7)})
    record = made.finish()
    np.testing.assert_allclose(record.theta, np.median(averages(made, given), axis=0), atol=1e-7)
    assert made.now.unmasked is not None
    assert (made.now.unmasked.disputed, made.now.unmasked.refused) == (made.names[:6], ())


def test_more_wrong_shares_than_can_be_mended_cost_their_own_group_only() -> None:
    made = federation()
    given = bad_shares(made, {"client-02": range(1, 5)})
    state = made.now
    assert state.cohort is not None
    plan, cohort = state.plan.message, state.cohort.message
    masked = {name: sent.masked for name, sent in state.contributions.items()}
    answers = [signed.message for signed in state.openings.values()]
    with pytest.raises(OpeningsContradict):
        opening.unmask(plan, cohort, masked, answers, last_chance=False)
    record = made.finish()
    number = plan.dealt[plan.invited.index("client-02")]
    assert made.now.unmasked is not None
    assert made.now.unmasked.refused == (number,)
    rest = np.delete(averages(made, given), number - 1, axis=0)
    np.testing.assert_allclose(record.theta, np.median(rest, axis=0), atol=1e-7)
    audited(made)


def test_an_opening_with_a_sum_for_a_group_of_nobody_or_without_one_for_each_group_is_not_taken() -> None:
    made = federation()
    made.plan()
    gone = left_out(made, 1)
    for name in made.names:
        if name not in gone:
            made.contribute(name, np.zeros(3))
    made.close()
    answer = made.open("client-07")
    assert made.now.cohort is not None
    key, cohort = made.clients["client-07"].identity_key, made.now.cohort.message
    for total, reason in ((b"\1" + answer.message.sum[1:], "sum of zeros"), (answer.message.sum[:32], "words")):
        lie = Signed[Opening].make(key, answer.message.model_copy(update={"sum": total}))
        with pytest.raises((RemoteProtocolError, EncodingError), match=reason):
            opening.check_opening(made.now.plan.message, made.now.roster.message, cohort, lie)
