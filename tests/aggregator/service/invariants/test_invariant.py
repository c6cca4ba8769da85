"""The invariants are those of the threat model, word for word."""

import re
from pathlib import Path

from aggregator.service.invariants.invariant import INVARIANTS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "threat-model.md"


def test_numbers_and_words_are_those_of_the_threat_model() -> None:
    listed = PAGE.read_text(encoding="utf-8").split("\n## Invariants\n")[1]
    found = dict(re.findall(r"^(\d+)\. (.*(?:\n {3,}.*)*)", listed, flags=re.MULTILINE))
    words = {int(number): re.sub(r"\s+", " ", text) for number, text in found.items()}
    assert words == {number: invariant.words for number, invariant in INVARIANTS.items()}


def test_each_says_what_to_do() -> None:
    assert all(invariant.remedy for invariant in INVARIANTS.values())
