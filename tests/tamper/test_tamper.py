"""A short form of `make tamper`: two rounds, and of each kind of tampering a few; all are found."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from tamper import campaign, histories, tampering
from tamper.site import Site, played
from tamper.tampering import Tampering

KINDS = {
    "log_leaves.index changed",
    "log_leaves.leaf changed",
    "log_leaves row deleted",
    "log_nodes.level changed",
    "log_nodes.index changed",
    "log_nodes.hash changed",
    "log_nodes row deleted",
    "log_head.id changed",
    "log_head.size changed",
    "log_head.frontier changed, one entry more",
    "log_head.note changed",
    "log_head row deleted",
    "cut short, rows only",
    "cut short and signed again with the real key",
    "rebuilt whole with the real key",
    "old backup restored",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with played(tmp_path_factory.mktemp("played"), 2) as made:
        yield made


def test_nobody_finds_fault_with_an_honest_log(site: Site) -> None:
    assert list(campaign.honest(site)) == []


def test_a_few_of_each_kind_are_found(site: Site) -> None:
    by_kind: dict[str, list[Tampering]] = {}
    for one in tampering.every(site):
        by_kind.setdefault(one.kind, []).append(one)
    assert set(by_kind) == KINDS
    # The ends, and some in between.
    chosen = [one for kind in by_kind.values() for one in [kind[0], kind[len(kind) // 2], kind[-1]]]
    found = campaign.run(site, chosen)
    assert {kind: (one.outside, one.doctor, one.missed) for kind, one in found.items()} == dict.fromkeys(
        KINDS, (3, 3, ())
    )
    # Each was given up again.
    assert list(campaign.honest(site)) == []


def test_two_histories_are_found_wherever_they_part(site: Site) -> None:
    forks = list(histories.forks(site, site.aggregator.raw_leaves()))
    found = campaign.run_forks(forks[:: len(forks) // 3])
    assert all(one.outside == one.total >= 3 and one.missed == () for one in found.values())
    assert len(found) == 2


def test_what_changes_nothing_is_not_found(site: Site) -> None:
    """Or the auditors would find fault with anything."""

    def apply(connection: Connection) -> None:
        connection.exec_driver_sql("UPDATE log_head SET size = size")

    (one,) = campaign.run(site, [Tampering("nothing", "the same size", apply)]).values()
    assert (one.total, one.outside, one.doctor, one.missed) == (1, 0, 0, ("the same size",))
