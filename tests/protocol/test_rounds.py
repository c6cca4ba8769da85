"""Whole rounds: everybody there, members and contributors missing, borders of what can be summed."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from fgpr import canonical
from fgpr.errors import CapacityError, CohortRefused, PlanRefused, RemoteProtocolError
from fgpr.federated import publication
from fgpr.federated.publication import PriorRecord
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Event, Stage
from support import malice
from support.federation import SPEC, Federation

Update = tuple[Sequence[float], int]


def updates(made: Federation, without: Sequence[str] = ()) -> dict[str, Update]:
    """An update of each client, all different in values and weight."""
    draws = np.random.default_rng(11)
    drawn = {name: (draws.uniform(-2, 2, 3).tolist(), int(draws.integers(1, 5000))) for name in made.names}
    return {name: update for name, update in drawn.items() if name not in without}


def check_average(record: PriorRecord, given: Sequence[Update], levels: int = 2**30 - 1) -> None:
    """Within half a quantum of the weighted average, in rational numbers."""
    total = sum(weight for _, weight in given)
    for place, (lower, upper) in enumerate(zip(SPEC.bounds.lower, SPEC.bounds.upper, strict=True)):
        exact = sum((Fraction(float(values[place])) * weight for values, weight in given), Fraction()) / total
        half = (Fraction(float(upper)) - Fraction(float(lower))) / levels / 2
        # The published number is the nearest float of an exact one.
        rounding = Fraction(float(np.spacing(record.theta[place])))
        assert abs(Fraction(record.theta[place]) - exact) <= half + rounding
    assert record.opened is not None
    assert (record.opened.total_weight, record.opened.clients) == (total, len(given))


@pytest.mark.parametrize("size", [3, 4, 7, 12])
def test_with_everybody_there_the_prior_is_the_weighted_average(size: int) -> None:
    made = Federation(size)
    given = updates(made)
    record = made.run(given)
    assert record is not None
    check_average(record, list(given.values()))
    assert made.now.cohort is not None
    publication.verify_recomputed(record, made.now.plan.message, made.now.cohort.message, made.priors[0])
    assert made.now.stage is Stage.PUBLISHED


def test_rounds_follow_one_another_with_fresh_keys() -> None:
    made = Federation(4)
    for number in (1, 2, 3):
        given = updates(made)
        record = made.run(given)
        assert record is not None
        assert (record.version, record.round) == (number, number)
        check_average(record, list(given.values()))
    serials = [seat.key.message.serial for seat in made.now.plan.message.seats if seat.key is not None]
    assert serials == [3, 3, 3, 3]
    # The private halves that opened earlier rounds are gone.
    assert all(min(client.opening_keys) == 3 for client in made.clients.values())


# Eight clients: t = 6, min_cohort = 3. Whoever contributed may be gone when it comes to opening, and the reverse.
@pytest.mark.parametrize(
    "silent", [(), ("client-00",), ("client-02", "client-05"), ("client-01", "client-03", "client-04")]
)
@pytest.mark.parametrize("gone", [(), ("client-00",), ("client-04", "client-05")])
def test_missing_clients_change_nothing_for_those_who_are_there(silent: tuple[str, ...], gone: tuple[str, ...]) -> None:
    made = Federation(8)
    given = updates(made, without=silent)
    record = made.run(given, openers=[name for name in made.names if name not in gone])
    assert record is not None
    check_average(record, list(given.values()))


def test_one_member_too_few_opens_nothing() -> None:
    made = Federation(6)
    assert made.run(updates(made), openers=made.names[:4]) is None
    assert made.now.stage is Stage.ABORTED
    assert made.prior.version == 0


def test_one_contribution_too_few_is_not_even_closed() -> None:
    made = Federation(6)
    assert made.run(updates(made, without=made.names[2:])) is None
    assert made.now.cohort is None
    assert made.now.empty is not None
    assert made.now.empty.message.members == ()


@pytest.mark.parametrize(("min_cohort", "published"), [(4, True), (5, False)])
def test_a_dead_client_stops_nobody_or_the_quorum_says_so(min_cohort: int, published: bool) -> None:
    # Case C1, with five clients: the fourth is killed before it posts.
    made = Federation(5, AggregationRules(min_cohort=min_cohort))
    given = updates(made, without=["client-03"])
    rest = [name for name in made.names if name != "client-03"]
    record = made.run(given, openers=rest)
    if published:
        assert record is not None
        check_average(record, list(given.values()))
        assert made.now.cohort is not None
        assert made.now.cohort.message.clients() == set(rest)
    else:
        assert record is None
        assert made.now.stage is Stage.ABORTED
        assert made.prior.reason == "initial"


def test_values_beyond_the_bounds_are_clipped_and_named() -> None:
    # Case D3: ln(1e5) with a bound of ln(1e4).
    made = Federation(4)
    made.plan()
    told = [made.contribute(name, np.array([0.0, 0.0, np.log(1e5)])) for name in made.names]
    assert all(each.saturated == ("length-scale of cycle",) for each in told)
    made.close()
    for name in made.names:
        made.open(name)
    assert np.exp(made.finish().theta[2]) == pytest.approx(1e4, rel=1e-12)


def test_the_same_vector_in_two_rounds_gives_uploads_that_have_nothing_in_common() -> None:
    # Case D5: 100 in one round and 150 in the next must not differ by 50 on the wire.
    made = Federation(4)
    words = []
    for values in ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.2, 0.3, 0.4]):
        made.plan()
        for name in made.names:
            made.contribute(name, np.array(values), 9)
        words.append({name: FIELD.from_bytes(sent.masked, 4) for name, sent in made.now.contributions.items()})
        made.close()
        for name in made.names:
            made.open(name)
        made.finish()
    encoded = [publication.codec_for(SPEC, made.rules).encode(v, 9).vector for v in ([0.1, 0.2, 0.3], [0.2, 0.3, 0.4])]
    gap = FIELD.sub(encoded[1], encoded[0])
    for name in made.names:
        first, second, third = (each[name] for each in words)
        assert not np.any(first == second)
        assert not np.any(FIELD.sub(third, second) == gap)
        assert not np.any(FIELD.sub(third, first) == gap)


def test_a_run_again_of_a_failed_round_has_a_new_number_and_new_masks_after_a_restart_too() -> None:
    made = Federation(4)
    made.plan()
    for name in made.names[:2]:
        made.contribute(name, np.zeros(3))
    before = {name: sent.masked for name, sent in made.now.contributions.items()}
    made.close()
    for name in made.names:
        made.open(name)
    made.settle()
    made.clients = {name: client.restarted() for name, client in made.clients.items()}
    assert made.plan().message.round == 2
    for name in made.names[:2]:
        made.contribute(name, np.zeros(3))
        again = FIELD.from_bytes(made.now.contributions[name].masked, 4)
        assert not np.any(again == FIELD.from_bytes(before[name], 4))


def plain_forms(made: Federation, values: Sequence[float], weight: int) -> list[bytes]:
    """A plain vector as it could stand in something stored: words, base64, hex, decimal."""
    vector = publication.codec_for(SPEC, made.rules).encode(values, weight).vector
    raw = FIELD.to_bytes(vector)
    forms = [raw, canonical.to_text(raw).encode(), raw.hex().encode()]
    return forms + [str(int(word)).encode() for word in vector[:3]] + [raw[place : place + 8] for place in (0, 8, 16)]


@pytest.mark.parametrize("leaving", ["before posting", "after posting"])
def test_one_survivor_is_never_opened_and_its_vector_is_nowhere(leaving: str) -> None:
    # Case D7: only client 1 posts.
    made = Federation(4)
    values, weight = [0.3, -0.7, 1.1], 4_321
    made.plan()
    made.contribute("client-01", np.array(values), weight)
    if leaving == "after posting":
        made.contribute("client-02", np.zeros(3))
        made.revoke("client-02")
    held = malice.all_bytes(made, made.names)
    assert not [form for form in plain_forms(made, values, weight) if form in held]
    # A malicious aggregator closes it all the same, and nobody answers.
    alone = made.cohort_of(["client-01"])
    for name in made.names:
        with pytest.raises(CohortRefused, match="at least 3 are needed") as refused:
            made.ask(name, made.view(name, alone))
        assert refused.value.check == 5
    assert made.close() is None
    assert made.now.stage is Stage.ABORTED
    assert made.now.contributions == {}
    held = malice.all_bytes(made, made.names)
    assert not [form for form in plain_forms(made, values, weight) if form in held]


def test_a_client_that_leaves_after_posting_does_not_spoil_the_sum() -> None:
    # Case D7: 100, 200 and 300, of which the third is gone before anything is opened, give 600 with it and 300 without.
    for revoked in (False, True):
        made = Federation(5)
        made.plan()
        given = {name: ([0.1 * place] * 3, 1) for place, name in enumerate(made.names, start=1)}
        for name, (values, weight) in given.items():
            made.contribute(name, np.array(values), weight)
        if revoked:
            made.revoke("client-04")
            del given["client-04"]
        made.close()
        for name in made.names[:4]:
            made.open(name)
        check_average(made.finish(), list(given.values()))


def test_everybody_at_the_upper_bound_with_the_largest_weight_at_the_border_of_capacity() -> None:
    made = Federation(4, AggregationRules(fraction_bits=43))
    top = [float(bound) for bound in SPEC.bounds.upper]
    record = made.run(dict.fromkeys(made.names, (top, 65535)))
    assert record is not None
    assert list(record.theta) == top
    bottom = [float(bound) for bound in SPEC.bounds.lower]
    record = made.run(dict.fromkeys(made.names, (bottom, 1)))
    assert record is not None
    assert list(record.theta) == bottom


def test_one_client_beyond_the_capacity_is_refused_by_the_aggregator_and_by_every_client() -> None:
    made = Federation(5, AggregationRules(fraction_bits=42))
    with pytest.raises(CapacityError):
        Federation(5, AggregationRules(fraction_bits=43)).plan()
    codec = publication.codec_for(SPEC, AggregationRules(fraction_bits=43)).to_json()
    made.plan(codec=codec)
    for name in made.names:
        with pytest.raises(PlanRefused) as refused:
            made.check(name)
        assert refused.value.check == 6


def test_a_late_contribution_and_a_second_answer_change_nothing_that_was_closed() -> None:
    made = Federation(4)
    made.plan()
    for name in made.names[:3]:
        made.contribute(name, np.zeros(3))
    made.close()
    made.contribute("client-03", np.ones(3))
    for name in made.names:
        made.open(name)
    record = made.finish()
    assert record.opened is not None
    assert record.opened.clients == 3


def test_the_aggregator_takes_no_body_that_was_not_made_for_this_round() -> None:
    made = Federation(4)
    made.plan()
    sent = made.contribute("client-00", np.zeros(3)).contribution
    for name in made.names[1:]:
        made.contribute(name, np.zeros(3))
    made.close()
    for name in made.names:
        made.open(name)
    made.finish()
    made.plan()
    with pytest.raises(RemoteProtocolError, match="another plan"):
        made.receive(sent)


def test_a_client_s_own_floors_stand_above_the_plan() -> None:
    made = Federation(6)
    made.clients["client-00"].floors = Floors(min_cohort=5)
    made.plan()
    with pytest.raises(PlanRefused) as refused:
        made.check("client-00")
    assert refused.value.check == 9
    for name in made.names[1:]:
        made.contribute(name, np.zeros(3))
    made.close()
    for name in made.names[1:]:
        made.open(name)
    made.finish()


def test_an_abort_for_a_refused_sum_publishes_nothing() -> None:
    made = Federation(4)
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    made.close()
    made.abort(Event.SUM_REFUSED)
    assert made.now.stage is Stage.ABORTED
    assert made.prior.version == 0
