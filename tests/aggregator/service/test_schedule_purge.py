from pathlib import Path

import pytest

from aggregator.service import enrolment
from fgpr.errors import CommitteeError
from fgpr.secagg.messages import Contribution
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support.aggregator import served, settings_of
from support.client import NAME, ContributionWritten


def test_what_a_round_erased_is_gone_though_no_round_can_follow(tmp_path: Path) -> None:
    rules = AggregationRules(min_cohort=4)
    with served(tmp_path, settings_of(rules=rules, min_clients=3), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        for party in parties:
            party.contribute()
        written = [one for one in parties[0].client.journal if isinstance(one, ContributionWritten)]
        masked = Contribution.decode(written[-1].body).masked
        assert masked in aggregator.files()
        parties[3].open()
        enrolment.revoke(aggregator.context, NAME, "client-03")
        for party in parties[:3]:
            party.open()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        with pytest.raises(CommitteeError, match="min_cohort 4"):
            aggregator.advance()
        for piece in (masked[:24], masked[-24:]):
            assert piece not in aggregator.files()
