import json
from pathlib import Path

import pytest

from fgpr import merkle
from proofs import __main__ as command
from proofs.forgeries import of_size


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
