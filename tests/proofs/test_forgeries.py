import json
from pathlib import Path
from typing import Any

import pytest

from fgpr import merkle
from proofs import __main__ as command
from proofs.forgeries import of_size, one_by_one
from proofs.lanes import Lanes, forgeries_of, node_hash


def test_every_proof_up_to_24_leaves_verifies_and_no_bit_of_it_can_be_turned_over() -> None:
    for size in range(1, 25):
        count = of_size(size)
        assert (count.proofs, count.refused, count.accepted) == (2 * size, 0, 0)
        assert count.forgeries >= 4 * 256 * size


def test_a_verifier_that_does_not_look_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(merkle, "_verify_root", lambda *_: None)
    assert of_size(5).accepted > 0
    monkeypatch.undo()
    report = tmp_path / "proofs.json"
    assert command.main(["--largest", "3", "--processes", "1", "--report", str(report)]) == 0
    lines = {line["name"]: line for line in json.loads(report.read_text(encoding="utf-8"))}
    assert lines["honest proofs"]["value"] == 2 * (1 + 2 + 3)
    assert lines["forgeries accepted"]["met"]


def test_256_forgeries_in_one_call_come_out_as_256_calls_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 2, 5, 8):
        assert of_size(size) == of_size(size, one_by_one)
    compare = merkle._verify_root

    def looks_at_the_new_tree_only(what: str, expected: bytes, got: bytes) -> None:
        if not what.endswith("old tree"):
            compare(what, expected, got)

    monkeypatch.setattr(merkle, "_verify_root", looks_at_the_new_tree_only)
    for size in (1, 2, 5, 7):
        found = of_size(size)
        assert found == of_size(size, one_by_one)
        # An old root that is a complete node is one of the hashes that lead to the new root, any other is none; between
        # equal sizes neither root is looked at.
        others = sum(old.bit_count() > 1 for old in range(1, size))
        assert found.accepted == 256 * (others + 2)


def test_lanes_are_hashed_as_hashes_are() -> None:
    left, right = bytes(range(32)), bytes(range(32, 64))
    lanes = forgeries_of(right)
    assert len(set(lanes.each)) == 256
    assert {(int.from_bytes(lane) ^ int.from_bytes(right)).bit_count() for lane in lanes.each} == {1}
    for made, expected in (
        (node_hash(left, lanes), [merkle.node_hash(left, lane) for lane in lanes.each]),
        (node_hash(lanes, left), [merkle.node_hash(lane, left) for lane in lanes.each]),
        (node_hash(lanes, lanes), [merkle.node_hash(lane, lane) for lane in lanes.each]),
    ):
        assert isinstance(made, Lanes)
        assert made.each == expected
    assert node_hash(left, right) == merkle.node_hash(left, right)
    assert lanes != right
    assert lanes == lanes.each[200]


def test_a_verifier_that_looked_into_lanes_would_fail_loudly() -> None:
    looked: Any = forgeries_of(bytes(32))
    with pytest.raises(TypeError):
        looked[:16]
    with pytest.raises(TypeError):
        hash(looked)
