from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical
from fgpr.errors import CommitteeError, EncodingError, VerificationError
from fgpr.message import Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.roster import Roster, RosterDraft, RosterEntry, changes
from fgpr.signatures import key_id
from support import samples

KEYS = [canonical.to_text(bytes([number]) * 32) for number in range(4)]


def line(client: str, key: int, *, may_serve: bool = True, revoked: bool = False) -> dict[str, Any]:
    return {"client": client, "identity_key": KEYS[key], "may_serve": may_serve, "revoked": revoked, "declared": None}


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
    for stranger in ("e", "aa"):
        with pytest.raises(VerificationError, match=f"client {stranger} is not in roster version 3"):
            MIXED.identity_key(stranger)


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


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def declaring(
    client: str, weight: int, *, of: str = "engines", by: Ed25519PrivateKey = KEY, revoked: bool = False
) -> RosterEntry:
    """A line with a declared weight; all have one identity key, and the rosters below are not parsed."""
    return RosterEntry(
        client=client,
        identity_key=KEY.public_key().public_bytes_raw(),
        may_serve=True,
        revoked=revoked,
        declared=Signed[DeclaredWeight].make(by, DeclaredWeight(federation=of, client=client, weight=weight)),
    )


def of_lines(*lines: RosterEntry) -> Roster:
    return MIXED.model_copy(update={"clients": lines})


def test_weights_of_the_unrevoked_each_of_which_needs_one() -> None:
    gone = RosterEntry(client="c", identity_key=bytes(32), declared=None, may_serve=True, revoked=True)
    found = of_lines(declaring("a", 3), declaring("b", 5, revoked=True), gone, declaring("d", 7))
    assert found.weights() == {"a": 3, "d": 7}
    with pytest.raises(CommitteeError, match="a, b declared no weight in roster version 3"):
        MIXED.weights()


def test_each_declared_weight_is_its_client_s_own() -> None:
    MIXED.verify_declared()
    of_lines(declaring("a", 3), declaring("b", 5, revoked=True)).verify_declared()
    with pytest.raises(VerificationError, match="the weight beside a is a's of bridges"):
        of_lines(declaring("a", 3, of="bridges")).verify_declared()
    with pytest.raises(VerificationError, match="the weight beside a is b's of engines"):
        of_lines(declaring("b", 3).model_copy(update={"client": "a"})).verify_declared()
    with pytest.raises(VerificationError, match="does not hold"):
        of_lines(declaring("a", 3, by=Ed25519PrivateKey.from_private_bytes(bytes(32)))).verify_declared()


def test_a_signer_is_shown_declared_weights() -> None:
    before, after = of_lines(declaring("a", 3)), of_lines(declaring("a", 4))
    key = key_id(KEY.public_key().public_bytes_raw())
    assert changes(None, before) == (f"a is admitted with key {key}, weight 3",)
    assert changes(before, after) == (f"a has another declared weight: key {key}, weight 4",)


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


def test_a_draft_is_the_roster_without_its_nonce() -> None:
    fields = {name: value for name, value in MIXED.to_json().items() if name != "nonce"}
    draft = RosterDraft.from_json(fields)
    assert draft.with_nonce(MIXED.nonce) == MIXED
    with pytest.raises(EncodingError, match="nonce"):
        Roster.from_json(fields)
    with pytest.raises(EncodingError, match="nonce"):
        RosterDraft.from_json(MIXED.to_json())
    # A draft has no label of its own: nothing that is signed can be taken for one.
    assert RosterDraft.label == ""


def test_what_changes_between_two_rosters_is_said_in_words() -> None:
    before = roster(line("a", 0), line("b", 1), line("c", 2, revoked=True))
    assert changes(before, before) == ()
    admitted = canonical.from_text(KEYS[3])
    assert changes(None, roster(line("a", 3))) == (f"a is admitted with key {key_id(admitted)}",)
    after = roster(line("a", 3), line("b", 1, revoked=True), line("d", 0, may_serve=False))
    assert changes(before, after) == (
        f"a has another key: {key_id(admitted)}",
        "b is revoked",
        "c is left out",
        f"d is admitted with key {key_id(canonical.from_text(KEYS[0]))}",
    )
    assert changes(after, roster(line("a", 3), line("b", 1), line("d", 0))) == (
        "b is no longer revoked",
        "d may serve",
    )
    assert changes(roster(line("a", 0)), roster(line("a", 0, may_serve=False))) == ("a may not serve",)
