"""What a place of the database is said to hold."""

import pytest

from aggregator.service.invariants.erasure import check_remains
from aggregator.storage.remains import Place

KEY = bytes(range(192, 224))


@pytest.mark.parametrize(
    "stored",
    [
        KEY,
        b"c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf",
        b"wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t8=",
    ],
    ids=["bytes", "hex", "base64"],
)
def test_a_key_is_found_in_any_piece(stored: bytes) -> None:
    (found,) = check_remains([Place("fgpr.db", [b"", b"x" + stored + b"y", stored])], {"the service key": KEY})
    assert (found.number, found.what) == (15, "fgpr.db holds the service key")


def test_what_may_not_be_read_is_not_said_to_hold() -> None:
    (found,) = check_remains([Place("others", None)], {})
    assert found.number == 15
    assert found.what == "others cannot be searched: the database's user may not read it"
