import pytest

from aggregator.auth import NotInMemory
from aggregator.known_keys import KnownKeys


def test_the_key_that_was_not_asked_for_the_longest_time_is_let_go() -> None:
    keys = KnownKeys(most=2)
    keys.add("a", b"A")
    keys.add("b", b"B")
    assert keys.get("a") == b"A"
    keys.add("c", b"C")
    assert (keys.get("a"), keys.get("c")) == (b"A", b"C")
    for gone in ("b", "never"):
        with pytest.raises(NotInMemory):
            keys.get(gone)
