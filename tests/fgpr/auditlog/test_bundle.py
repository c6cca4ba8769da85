"""A whole log in one file: what is read, what is refused, and that every checkpoint in and beside it counts."""

from functools import cache

import pytest

from fgpr import canonical, signatures
from fgpr.auditlog import checkpoint
from fgpr.auditlog.bundle import Bundle, check_key, fingerprint, open_position, verify_bundle
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import EncodingError, VerificationError
from fgpr.secagg.messages import LogPosition
from support.federation import Federation
from support.forged_log import ForgedLog, played, position_of


@cache
def _made() -> Federation:
    return played()


def note_of(leaves: list[bytes], name: str | None = None) -> str:
    made = _made()
    key, position = made.anchors.service_key, position_of(leaves)
    origin = name or checkpoint.name_of(key)
    return checkpoint.sign(Checkpoint(origin, position.size, position.root), checkpoint.name_of(key), made.service_key)


def bundle(leaves: list[bytes] | None = None, *notes: str) -> Bundle:
    raw = _made().log.leaves if leaves is None else leaves
    return Bundle(_made().anchors.service_key, notes or (note_of(raw),), tuple(raw))


def test_writing_and_reading_are_inverse() -> None:
    lines = list(bundle().lines())
    assert Bundle.read(lines) == bundle()
    assert b"".join(lines).split(b"\n")[1:-1] == list(_made().log.leaves)
    assert bundle().name == checkpoint.name_of(_made().anchors.service_key)
    assert Bundle.read([line.removesuffix(b"\n") for line in lines]) == bundle()


HEAD = next(bundle().lines())


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\n"],
        [b"{}\n"],
        [HEAD.replace(b"fgpr-audit-1", b"fgpr-audit-2")],
        [HEAD.replace(b'"checkpoints"', b'"notes"')],
        [HEAD.replace(b'"format"', b'"colour":"blue","format"')],
        _made().log.leaves,
    ],
)
def test_what_is_no_bundle(lines: list[bytes]) -> None:
    with pytest.raises(EncodingError, match="this is no bundle of an audit log"):
        Bundle.read(lines)


def test_a_leaf_with_a_line_break_cannot_be_written() -> None:
    with pytest.raises(EncodingError, match="leaf 1 has a line break"):
        list(bundle([b"{}", b"{\n}"]).lines())


def test_an_honest_bundle_against_what_was_held() -> None:
    raw = _made().log.leaves
    held = [position_of(raw[:size]) for size in (0, 7, len(raw))]
    keys = {"engines": _made().anchors.roster_key}
    assert verify_bundle(bundle(), held, keys).leaves == len(raw)
    # Checkpoints of every age in it, in any order.
    assert verify_bundle(bundle(None, note_of(raw), note_of(raw[:9])), []).leaves == len(raw)


def test_the_newest_of_a_bundle_s_checkpoints() -> None:
    raw = _made().log.leaves
    assert bundle(None, note_of(raw[:9]), note_of(raw), note_of(raw[:3])).newest == note_of(raw)
    with pytest.raises(VerificationError, match="nobody signed this log"):
        _ = Bundle(_made().anchors.service_key, (), tuple(raw)).newest


def test_what_a_bundle_may_not_hold() -> None:
    raw = _made().log.leaves
    other = [*raw[:4], raw[5], raw[4], *raw[6:]]
    for made, held, reason in (
        (Bundle(_made().anchors.service_key, (), tuple(raw)), [], "nobody signed this log"),
        (
            bundle(raw[:-1], note_of(raw)),
            [],
            f"the log has {len(raw) - 1} leaves, its newest checkpoint counts {len(raw)}",
        ),
        (
            bundle(raw, note_of(raw[:-1])),
            [],
            f"the log has {len(raw)} leaves, its newest checkpoint counts {len(raw) - 1}",
        ),
        (bundle(None, note_of(raw), note_of(other[:6])), [], "the first 6 leaves are not those of the checkpoint"),
        (bundle(), [position_of(other[:6])], "the first 6 leaves are not those of the checkpoint"),
        (bundle(), [position_of([*raw, raw[0]])], f"the checkpoint counts {len(raw) + 1}"),
        (bundle(None, note_of(raw, "fgpr-log/another")), [], "the checkpoint is of log 'fgpr-log/another'"),
        (bundle(None, note_of(raw).replace("\u2014 fgpr-log/", "\u2014 fgpr-lag/")), [], "the note has no signature"),
    ):
        with pytest.raises(VerificationError, match=reason):
            verify_bundle(made, held)


def test_a_leaf_that_does_not_follow_is_found_though_the_tree_holds() -> None:
    log = ForgedLog(_made())
    log.change("prior", 1, spare=0)
    raw = [leaf.encode() for leaf in log.leaves]
    with pytest.raises(VerificationError, match="leaf 25: 0 openings are called spare"):
        verify_bundle(bundle(raw), [])


def test_the_key_behind_a_checkpoint() -> None:
    note, key = note_of(_made().log.leaves), _made().anchors.service_key
    check_key(note, key)
    assert open_position(note, key) == position_of(_made().log.leaves)
    with pytest.raises(VerificationError, match="that is another log"):
        check_key(note, _made().anchors.roster_key)
    assert signatures.key_id(key) in note


def test_a_checkpoint_for_people() -> None:
    told = fingerprint(LogPosition(size=7, root=bytes(32)))
    assert told == f"7 leaves, root {canonical.to_text(bytes(32))}"
