"""A log against a checkpoint that was kept outside, and leaves that can follow nothing."""

import pytest

from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.auditlog.verification import verify_trail
from fgpr.errors import EncodingError, VerificationError
from fgpr.secagg.messages import LogPosition
from support.client import NAME
from support.federation import Federation
from support.forged_log import ForgedLog, played, position_of, state


@pytest.fixture(scope="module")
def made() -> Federation:
    return played()


def test_every_checkpoint_that_somebody_kept_verifies_the_log(made: Federation) -> None:
    raw, key = made.log.leaves, made.anchors.service_key
    whole = verify_trail(raw, position_of(raw), key)
    assert whole.leaves == len(raw)
    assert [version for _, version in whole.priors] == [0, 1, 2, 3]
    assert [stage.value for stage in whole.stages.values()] == ["published", "void", "carried", "published"]
    for size in (0, 1, 13, len(raw) - 1):
        assert verify_trail(raw, position_of(raw[:size]), key).leaves == len(raw)


def test_a_log_cut_short_is_found(made: Federation) -> None:
    raw, kept = made.log.leaves, position_of(made.log.leaves)
    for size in range(len(raw)):
        with pytest.raises(VerificationError, match=f"the log has {size} leaves, the checkpoint counts {len(raw)}"):
            verify_trail(raw[:size], kept, made.anchors.service_key)


def test_every_leaf_that_is_gone_moved_or_doubled_is_found(made: Federation) -> None:
    raw, kept = made.log.leaves, position_of(made.log.leaves)
    for place in range(len(raw)):
        gone = [*raw[:place], *raw[place + 1 :], state("paused").encode()]
        doubled = [*raw[: place + 1], raw[place], *raw[place + 1 :]][: len(raw)]
        for forged in (gone, doubled):
            if forged != raw:
                with pytest.raises(VerificationError, match="are not those of the checkpoint"):
                    verify_trail(forged, kept, made.anchors.service_key)


def test_a_checkpoint_of_another_history_is_found(made: Federation) -> None:
    raw = made.log.leaves
    for size in (0, 5, len(raw)):
        with pytest.raises(VerificationError, match=f"the first {size} leaves are not those of the checkpoint"):
            verify_trail(raw, LogPosition(size=size, root=bytes(32)), made.anchors.service_key)


def test_leaves_after_the_checkpoint_are_verified_too(made: Federation) -> None:
    raw, empty = made.log.leaves, LogPosition(size=0, root=merkle.EMPTY_ROOT)
    with pytest.raises(VerificationError, match=f"leaf {len(raw)}: "):
        verify_trail([*raw, raw[-2]], empty, made.anchors.service_key)
    with pytest.raises(EncodingError):
        verify_trail([*raw, b"{}"], empty, made.anchors.service_key)


def test_an_epoch_begins_once(made: Federation) -> None:
    log = ForgedLog(made)
    log.refuses(log.append(log.leaf("epoch")), "epoch e+ began before")
    log.leaves[-1] = entries.EpochBegun(epoch="f" * 22)
    assert log.verify().epochs == ["e" * 22, "f" * 22]


def test_a_federation_is_created_first(made: Federation) -> None:
    log = ForgedLog(made)
    log.remove("federation")
    log.refuses(0, f"federation {NAME} was never created")


def test_another_service_key_signed_nothing(made: Federation) -> None:
    with pytest.raises(VerificationError, match="leaf 1: the signature under 'fgpr-v1/prior'"):
        verify_trail(made.log.leaves, position_of(made.log.leaves), made.anchors.roster_key)
