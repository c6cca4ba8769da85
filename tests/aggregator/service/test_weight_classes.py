"""A federation that counts in classes, over HTTP."""

from pathlib import Path

import numpy as np

from aggregator.service import inspection
from fgpr.secagg.planning import AggregationRules
from support.aggregator import served, settings_of


def test_weights_are_counted_in_powers_of_two(tmp_path: Path, database_url: str) -> None:
    rules = AggregationRules(weighting="classes", weight_unit=10)
    with served(tmp_path, settings_of(rules=rules), keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(4)
        aggregator.advance()
        # 1 / 2 / 4 / 16 units, two of them not whole.
        for party, rows in zip(parties, (3, 17, 43, 900), strict=True):
            party.contribute(np.zeros(3), rows)
        for party in parties:
            party.open()
        opened = aggregator.prior().opened
        assert opened is not None
        assert opened.total_weight == 1 + 2 + 4 + 16
        inspection.verify_database(aggregator.context.database, aggregator.anchors())
