import numpy as np
import pytest

from aggregator.service import operator
from fgpr.errors import UnknownResource
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator
from support.client import NAME


def test_what_the_operator_sees_of_rounds(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties[:3]:
        party.contribute()
    parties[3].check()
    aggregator.pass_contributing()
    parties[1].open()
    shown = operator.show_round(aggregator.context, NAME, 1)
    assert shown["contributors"] == ["client-00", "client-01", "client-02"]
    assert shown["openings"] == ["client-01"]
    assert shown["summary"]["stage"] == "opening"
    assert shown["plan"]["message"]["round"] == 1
    assert len(shown["cohort"]["message"]["members"]) == 3
    with pytest.raises(UnknownResource, match="published nothing"):
        operator.published(aggregator.context, NAME, 1)
    for party in (parties[0], parties[2], parties[3]):
        party.open()
    theta, cohort = operator.published(aggregator.context, NAME, 1)
    np.testing.assert_array_equal(theta, aggregator.prior().vector())
    assert cohort == ["client-00", "client-01", "client-02"]
    lines = operator.list_rounds(aggregator.context, NAME, 20)
    assert [(line.round, line.stage, line.contributions, line.cohort, line.openings) for line in lines] == [
        (2, Stage.CONTRIBUTING, 0, None, 0),
        (1, Stage.PUBLISHED, 3, 3, 4),
    ]
    assert [line.round for line in operator.list_rounds(aggregator.context, NAME, 1)] == [2]


def test_what_there_is_not(aggregator: Aggregator) -> None:
    with pytest.raises(UnknownResource, match="no federation 'nowhere'"):
        operator.list_rounds(aggregator.context, "nowhere", 20)
    with pytest.raises(UnknownResource, match="no round 1"):
        operator.show_round(aggregator.context, NAME, 1)


def test_a_started_log_is_not_started_again(aggregator: Aggregator) -> None:
    before = aggregator.dump()
    operator.start_log(aggregator.context)
    assert aggregator.dump() == before
