from typing import Any

import pytest

from fgpr import canonical
from fgpr.errors import EncodingError, VerificationError
from fgpr.secagg.roster import Roster
from support import samples

KEYS = [canonical.to_text(bytes([number]) * 32) for number in range(4)]


def line(client: str, key: int, *, may_serve: bool = True, revoked: bool = False) -> dict[str, Any]:
    return {"client": client, "identity_key": KEYS[key], "may_serve": may_serve, "revoked": revoked}


def roster(*lines: dict[str, Any], version: int = 3) -> Roster:
    nowhere = canonical.to_text(bytes(32))
    return Roster.from_json(
        {
            "federation": "engines",
            "version": version,
            "clients": list(lines),
            "nonce": nowhere,
            "checkpoint": {"size": 0, "root": nowhere},
        }
    )


MIXED = roster(
    line("a", 0), line("b", 1, may_serve=False), line("c", 2, revoked=True), line("d", 3, may_serve=False, revoked=True)
)


def test_who_takes_part_and_who_may_serve() -> None:
    assert MIXED.active() == ("a", "b")
    assert MIXED.servants() == ("a",)
    assert roster().active() == roster().servants() == ()


def test_identity_keys_of_the_unrevoked_only() -> None:
    assert MIXED.identity_key("b") == bytes([1]) * 32
    with pytest.raises(VerificationError, match="client c is revoked in roster version 3"):
        MIXED.identity_key("c")
    with pytest.raises(VerificationError, match="client e is not in roster version 3"):
        MIXED.identity_key("e")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([line("b", 0), line("a", 1)], "in order of their ids"),
        ([line("a", 0), line("a", 1)], "each once"),
        ([line("a", 0), line("b", 0)], "share an identity key"),
        ([line("a", 0), line("b", 0, revoked=True)], "share an identity key"),
    ],
)
def test_no_client_and_no_key_stands_twice(lines: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(EncodingError, match=reason):
        roster(*lines)


def test_versions_count_from_one() -> None:
    with pytest.raises(EncodingError, match="version"):
        roster(line("a", 0), version=0)


def test_the_nonce_the_checkpoint_and_every_flag_are_in_the_digest() -> None:
    signed = samples.federation().roster.message
    value = signed.to_json()
    flipped = samples.with_leaf(value, ("clients", 0, "may_serve"), False)
    renewed = value | {"nonce": canonical.to_text(bytes(32))}
    moved = samples.with_leaf(value, ("checkpoint", "size"), 1)
    digests = {Roster.from_json(each).digest() for each in (value, flipped, renewed, moved)}
    assert len(digests) == 4
