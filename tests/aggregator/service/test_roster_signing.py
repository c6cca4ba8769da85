"""The offline signer: each version once, with a nonce of its own."""

import random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service.roster_signing import sign_draft
from fgpr.errors import LocalProtocolError, VerificationError
from fgpr.message import Signed
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.roster import Roster, RosterDraft, RosterEntry

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BYTES = random.Random(7).randbytes


def draft(version: int = 1, *, names: str = "abc", federation: str = "engines", size: int | None = None) -> RosterDraft:
    return RosterDraft(
        federation=federation,
        version=version,
        clients=tuple(
            RosterEntry(client=name, identity_key=bytes([ord(name)]) * 32, may_serve=True, revoked=False, declared=None)
            for name in names
        ),
        checkpoint=LogPosition(size=10 * version if size is None else size, root=bytes(32)),
    )


def sign(wanted: RosterDraft, last: Signed[Roster] | None = None, key: Any = KEY) -> Signed[Roster]:
    return sign_draft(wanted, last, key, BYTES)


def test_versions_follow_each_other_and_each_has_a_nonce_that_the_signer_drew() -> None:
    first = sign(draft())
    first.verify(KEY.public_key().public_bytes_raw())
    second = sign(draft(2, names="abcd"), first)
    assert second.message.active() == ("a", "b", "c", "d")
    assert first.message.nonce != second.message.nonce
    assert sign(draft()).message.nonce != first.message.nonce


def test_the_same_draft_again_gets_the_same_nonce() -> None:
    first = sign(draft())
    assert sign(draft(), first) == first


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (draft(1, names="ab"), "1 was signed last, so 2 comes next"),
        (draft(3), "1 was signed last, so 2 comes next"),
        (draft(2, federation="bridges"), "signed rosters of engines, not of bridges"),
        (draft(2, size=10), "does not come after"),
    ],
)
def test_nothing_else_is_signed(wanted: RosterDraft, reason: str) -> None:
    with pytest.raises(LocalProtocolError, match=reason):
        sign(wanted, sign(draft()))


def test_the_first_roster_is_version_one() -> None:
    with pytest.raises(LocalProtocolError, match="0 was signed last, so 1 comes next"):
        sign(draft(2))


def test_a_record_of_another_key_is_no_record() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    with pytest.raises(VerificationError):
        sign(draft(2), sign(draft(), key=other))
