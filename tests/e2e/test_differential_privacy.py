"""A federation under differential privacy: an aggregator process, agent processes, HTTP between them."""

from pathlib import Path

import pytest

from aggregator.service import inspection
from client_agent import ledger, membership, published_prior
from fgpr.federated import accounting
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from fgpr.secagg.stages import Stage
from support.live_federation import live, until

pytestmark = pytest.mark.slow

RULES = AggregationRules(weighting="uniform", min_cohort=4, privacy=PrivacyRules(clip=0.5, noise=4.0))


def test_two_rounds_are_published_charged_and_told_to_whoever_fetches_the_prior(tmp_path: Path) -> None:
    with live(tmp_path, 4, rounds=2, rules=RULES) as federation:
        for name in federation.names:
            federation.agent(name)
        until(lambda: federation.is_in(Stage.PUBLISHED, 2), "round 2 to publish")
        for name in federation.names:
            charges = ledger.read(federation.home(name))
            assert charges.rounds() == {1, 2}
            assert charges.rho == pytest.approx(2 / 32)
        home = federation.home(federation.names[0])
        with membership.connect(home) as api:
            record = published_prior.fetch(home, api).record
        assert record.privacy is not None
        assert (record.version, record.privacy.rounds) == (2, 2)
        assert record.privacy.epsilon == pytest.approx(accounting.epsilon(2 / 32, 1e-5))
        context = federation.aggregator.context
        inspection.verify_database(context.database, federation.aggregator.anchors())
