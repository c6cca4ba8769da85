from typing import Any, get_args

import pytest

from fgpr import canonical
from fgpr.auditlog import entries
from fgpr.auditlog.entries import Leaf, Revoked
from fgpr.errors import EncodingError
from support import samples
from support.client import NAME
from support.forged_log import played

LEAVES: list[Leaf] = [
    *(entries.decode(raw) for raw in played().log.leaves),
    entries.ComplaintFiled(federation=NAME, complaint=samples.signed_complaint()),
    entries.Convicted(federation=NAME, client="client-00", round=3),
]
KINDS = list({leaf.kind: leaf for leaf in LEAVES}.values())
"""One leaf of each kind."""


def test_a_leaf_of_every_kind_is_here() -> None:
    classes = get_args(Leaf)
    assert {type(leaf) for leaf in KINDS} == set(classes)
    assert len({leaf.kind for leaf in KINDS}) == len(classes) == 16


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.kind)
def test_one_encoding_and_one_decoding(leaf: Leaf) -> None:
    assert entries.decode(leaf.encode()) == leaf
    assert entries.decode(leaf.encode()).encode() == leaf.encode()


@pytest.mark.parametrize("leaf", KINDS, ids=lambda leaf: leaf.kind)
def test_no_scalar_can_be_of_another_type_and_no_field_be_added(leaf: Leaf) -> None:
    value = leaf.to_json()
    for path, scalar in samples.leaves_of(value):
        if {"spec", "model", "settings", "codec", "training"} & set(path) or scalar is True or scalar is False:
            continue
        others: list[Any] = [[], True]
        for other in others:
            with pytest.raises(EncodingError):
                entries.decode(canonical.encode(samples.with_leaf(value, path, other)))
    with pytest.raises(EncodingError, match="colour"):
        entries.decode(canonical.encode(value | {"colour": "blue"}))


REVOKED = Revoked(federation="engines", client="client-00", by="operator").encode()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not JSON"),
        (b"{}", "leaf: "),
        (b"[]", "leaf: "),
        (b'{"kind":"party"}', "leaf: "),
        (REVOKED.replace(b'"revoked"', b'"enrolled"'), "role"),
        (REVOKED.replace(b'"operator"', b'"aggregator"'), "by"),
        (REVOKED.replace(b",", b", "), "not in canonical form"),
        (REVOKED + b"\n", "not in canonical form"),
        (b'{"kind":"revoked",' + REVOKED[1:], "repeated key 'kind'"),
        (b'{"kind":"revoked",' + REVOKED[1:].replace(b',"kind":"revoked"', b""), "not in canonical form"),
    ],
)
def test_what_is_no_leaf_in_canonical_form_is_refused(raw: bytes, reason: str) -> None:
    assert entries.decode(REVOKED)
    with pytest.raises(EncodingError, match=reason):
        entries.decode(raw)


def test_defaults_are_written_out_so_that_a_leaf_has_one_spelling() -> None:
    leaf = entries.PriorPublished(federation="engines", prior=samples.signed_prior())
    value: dict[str, Any] = leaf.to_json()
    assert (value["openings"], value["spare"], value["disputed"]) == ([], 0, [])
    del value["spare"]
    with pytest.raises(EncodingError, match="not in canonical form"):
        entries.decode(canonical.encode(value))


def test_a_revocation_is_read_for_its_federation_only() -> None:
    assert entries.revoked_by(REVOKED, "engines") == "client-00"
    assert entries.revoked_by(REVOKED, "bridges") is None
    convicted = entries.Convicted(federation="engines", client="client-02", round=3).encode()
    assert entries.revoked_by(convicted, "engines") == "client-02"
    assert entries.revoked_by(convicted, "bridges") is None
    for leaf in LEAVES:
        if leaf.kind not in ("revoked", "convicted"):
            assert entries.revoked_by(leaf.encode(), "engines") is None


def test_leaves_of_other_kinds_are_read_no_further_than_their_kind() -> None:
    for raw in (b'{"kind":"plan"}', b'{"kind":["revoked"]}', b"[]", b"7"):
        assert entries.revoked_by(raw, "engines") is None


def test_an_unreadable_leaf_is_no_proof_that_nobody_was_revoked() -> None:
    with pytest.raises(EncodingError):
        entries.revoked_by(b'{"client":"client-00","kind":"revoked"}', "engines")
