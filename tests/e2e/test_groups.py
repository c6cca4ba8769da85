"""Federations with groups from end to end: real agents that publish medians, and a liar that is outvoted."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from aggregator.service import inspection
from fgpr import canonical, merkle
from fgpr.auditlog import entries
from fgpr.auditlog.verification import verify_trail
from fgpr.errors import VerificationError
from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.message import Signed
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.planning import AggregationRules
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME
from support.demo_command import as_process, in_process
from support.party import Party

pytestmark = pytest.mark.slow


def test_real_agents_in_groups_publish_medians_and_the_kept_trail_verifies_until_a_group_s_sum_is_changed(
    tmp_path: Path,
) -> None:
    out, kept = tmp_path / "out.json", tmp_path / "kept"
    wish = ("--clients", "15", "--new-engines", "2", "--rounds", "2", "--groups", "3", "--largest-step", "0.75")
    done = as_process(*wish, "--keep", str(kept), "--json", str(out))
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())
    assert (figures["rounds_published"], figures["rounds_aborted"]) == (2, 0)
    # From the median of the three exact averages of what the agents trained.
    assert figures["aggregate_max_error"] <= 1e-6
    assert figures["audit_verified"] is True
    database = kept / "aggregator" / "federation.db"
    with sqlite3.connect(database) as connection:
        plan = json.loads(connection.execute("select plan from rounds where number = 2").fetchone()[0])["message"]
        rows = connection.execute('select "index", leaf from log_leaves order by "index" desc').fetchall()
        place, leaf = next(row for row in rows if b'"kind":"prior"' in row[1])
    assert (plan["groups"], plan["combine"], plan["largest_step"], len(plan["dealt"])) == (3, "median", 0.75, 15)
    assert in_process("--verify", str(kept)).stdout.startswith("audit_verified true")
    told = entries.decode(leaf)
    assert isinstance(told, entries.PriorPublished)
    opened = told.prior.message.opened
    assert opened is not None
    for group in range(3):
        total = bytearray(opened.sum)
        total[group * 32] ^= 1
        changed = leaf.replace(canonical.to_text(opened.sum).encode(), canonical.to_text(bytes(total)).encode())
        assert changed != leaf
        with sqlite3.connect(database) as connection:
            connection.execute('update log_leaves set leaf = ? where "index" = ?', (changed, place))
        found = in_process("--verify", str(kept))
        assert (found.exit_code, found.stdout.startswith("audit_verified false")) == (1, True)


def test_wishes_for_groups_that_cannot_hide_anybody_are_one_line() -> None:
    for wish, reason in ((("8", "3"), "8 invited clients dealt to 3 groups"), (("8", "2"), "2 groups combined")):
        done = in_process("--clients", wish[0], "--groups", wish[1])
        assert (done.exit_code, reason in done.stderr, len(done.stderr.splitlines())) == (1, True, 1)


RULES = AggregationRules(groups=3, combine="median")
LIAR = "client-04"


def contribute_all(aggregator: Aggregator, parties: list[Party]) -> dict[str, Contribution]:
    """Fifteen updates, one of them everything at its upper bound with the largest weight."""
    draws, given = np.random.default_rng(8), {}
    upper = np.array(parties[0].plan().message.codec["upper"])
    start = aggregator.prior().vector()
    for party in parties:
        values, rows = start + draws.uniform(-0.2, 0.2, 3), int(draws.integers(100, 300))
        if party.name == LIAR:
            values, rows = upper, 65_535
        party.contribute(values, rows)
        given[party.name] = Contribution(party.name, values, rows)
    return given


def test_a_liar_in_range_is_outvoted_and_would_have_been_the_average(tmp_path: Path) -> None:
    with served(tmp_path, settings_of(rules=RULES, min_clients=15), keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(15)
        aggregator.advance()
        start = aggregator.prior().vector()
        given = contribute_all(aggregator, parties)
        plan = parties[0].plan().message
        for party in parties:
            if aggregator.prior().version == 0:
                party.open()
        theta = aggregator.prior().vector()
        averages = [weighted_average([given[name] for name in part]) for part in plan.parts(plan.invited)]
        np.testing.assert_allclose(theta, np.median(averages, axis=0), atol=1e-7)
        # Honest clients moved by 0.2 at most; the plain average is where the liar is.
        assert np.max(np.abs(theta - start)) < 0.2
        assert np.min(np.abs(weighted_average(list(given.values())) - start)) > 2.0
        inspection.verify_database(aggregator.context.database, aggregator.anchors())
        _changed_by_whoever_signs_the_log(aggregator, averages)


def _changed_by_whoever_signs_the_log(aggregator: Aggregator, averages: list[np.ndarray]) -> None:
    """Another sum for the group in the middle, under a signature that holds, in a log built anew."""
    leaves = aggregator.raw_leaves()
    leaf = entries.decode(leaves[-2] if b'"kind":"plan"' in leaves[-1] else leaves[-1])
    assert isinstance(leaf, entries.PriorPublished)
    record, key = leaf.prior.message, aggregator.context.keys.service()
    assert record.opened is not None
    middle = int(np.argsort([average[0] for average in averages])[1])
    vector = FIELD.from_bytes(record.opened.sum, 12)
    vector[4 * middle] -= np.uint64(2**20)
    lie = record.model_copy(update={"opened": record.opened.model_copy(update={"sum": FIELD.to_bytes(vector)})})
    forged = leaf.model_copy(update={"prior": Signed.make(key, lie)})
    changed = [forged.encode() if raw == leaf.encode() else raw for raw in leaves]
    position = LogPosition(size=len(changed), root=merkle.root([merkle.leaf_hash(raw) for raw in changed]))
    anchors = aggregator.anchors()
    with pytest.raises(VerificationError, match="is not what its summed vector decodes to"):
        verify_trail(changed, position, anchors.service_key, {NAME: anchors.roster_keys[NAME]})
