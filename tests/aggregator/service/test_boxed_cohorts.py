from fgpr import merkle
from fgpr.secagg.messages import CohortView
from support.aggregator import Aggregator


def test_what_is_put_together_is_the_cohort_as_its_class_writes_it(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(7)
    aggregator.advance()
    for party in parties:
        party.contribute()
    for place, party in enumerate(parties):
        raw = party.api.get("rounds/1/cohort")
        view = CohortView.decode(raw)
        assert view.model_dump_json().encode() == raw
        assert [entry.header.message.client for entry in view.entries] == [one.name for one in parties]
        for entry in view.entries:
            leaf = merkle.leaf_hash(entry.box)
            merkle.verify_inclusion(leaf, place, len(parties), entry.path, entry.header.message.boxes)
