"""A federation under differential privacy, over HTTP: it publishes, says what that cost, and its log verifies."""

from pathlib import Path

import numpy as np
import pytest

from aggregator.service import inspection
from fgpr.errors import EncodingError
from fgpr.federated import accounting
from fgpr.federated.federation import Federation
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.aggregator import served, settings_of

RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=2.0, delta=1e-6))


def test_rounds_are_published_with_what_they_cost(tmp_path: Path) -> None:
    with served(tmp_path, settings_of(rules=RULES), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(5)
        aggregator.advance()
        for number in (1, 2):
            terms = parties[0].plan().message.differential_privacy
            assert terms is not None
            assert (terms.clip, terms.sigma, terms.carriers, terms.delta) == (2**20, 2**21, 3, 1e-6)
            before = aggregator.prior()
            assert terms.origin == before.theta
            for party in parties:
                party.contribute(before.vector() + 0.02, 50)
            for party in parties:
                party.open()
            record = aggregator.prior()
            assert (record.version, record.reason) == (number, "averaged")
            assert record.opened is not None
            assert record.opened.total_weight == 5
            assert record.privacy is not None
            assert record.privacy.rounds == number
            assert record.privacy.rho == pytest.approx(number / 8, rel=1e-12)
            assert record.privacy.epsilon == accounting.epsilon(record.privacy.rho, 1e-6)
            # A standard deviation of 1.0 sqrt(5 / 3) / 5 a number.
            assert 0 < np.abs(record.vector() - before.vector() - 0.02).max() < 6 * 0.26
            aggregator.advance()
        inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_a_carried_round_is_counted(tmp_path: Path) -> None:
    with served(tmp_path, settings_of(rules=RULES), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(5)
        aggregator.advance()
        parties[0].contribute(aggregator.prior().vector())
        for _ in range(3):
            aggregator.clock.forward(100_000)
            aggregator.advance()
        record = aggregator.prior()
        assert record.reason == "carried"
        assert record.privacy is not None
        assert record.privacy.rounds == record.round
        inspection.verify_database(aggregator.context.database, aggregator.anchors())


TOML = {
    "name": "engines",
    "model": {
        "features": [{"name": "cycle", "unit": "1", "lower": 0.0, "upper": 300.0}],
        "target": {"name": "T24", "unit": "degR", "scaling": "standardise"},
        "kernel": "rbf",
    },
    "aggregation": {"weighting": "uniform", "min_cohort": 4, "privacy": {"clip": 0.5, "noise": 4.0}},
}


def test_the_rules_come_from_the_federation_s_file() -> None:
    privacy = Federation.from_settings(TOML).aggregation.privacy
    assert privacy == PrivacyRules(clip=0.5, noise=4.0, delta=1e-5, levels=2**20)
    assert Federation.from_settings(TOML | {"aggregation": {}}).aggregation.privacy is None


@pytest.mark.parametrize(
    ("aggregation", "reason"),
    [
        ({"privacy": {"clip": 0.5, "noise": 4.0}}, "set weighting = 'uniform'"),
        ({"weighting": "uniform", "privacy": {"clip": 0.5}}, "noise"),
        ({"weighting": "uniform", "privacy": {"clip": 0.5, "noise": 0.0}}, "noise"),
        ({"weighting": "uniform", "privacy": {"clip": 0.5, "noise": 1.0, "epsilon": 1.0}}, "epsilon"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(aggregation: dict[str, object], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        Federation.from_settings(TOML | {"aggregation": aggregation})
