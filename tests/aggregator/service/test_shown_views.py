from fgpr.rest import RoundView
from support.aggregator import Aggregator


def view_of(raw: bytes) -> RoundView:
    return RoundView.decode(raw)


def test_a_kept_view_is_the_view_with_the_time_of_day(aggregator: Aggregator) -> None:
    party, *_ = aggregator.enrol(4)
    aggregator.advance()
    first = party.api.get("rounds/current")
    assert view_of(first).model_dump_json().encode() == first
    aggregator.clock.forward(1.5)
    later = party.api.get("rounds/current")
    assert view_of(later).server_time != view_of(first).server_time
    assert view_of(later).model_dump_json().encode() == later
    assert later != first
    assert view_of(later).model_copy(update={"server_time": view_of(first).server_time}) == view_of(first)


def test_another_stage_round_or_state_is_another_view(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    seen = [view_of(parties[0].api.get("rounds/current"))]
    for party in parties:
        party.contribute()
    seen.append(view_of(parties[0].api.get("rounds/current")))
    for party in parties:
        party.open()
    seen.append(view_of(parties[0].api.get("rounds/current")))
    assert [(view.round, view.cohort is not None, view.prior_version) for view in seen] == [
        (1, False, 0),
        (1, True, 0),
        (2, False, 1),
    ]
