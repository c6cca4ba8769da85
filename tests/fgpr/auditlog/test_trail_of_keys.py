"""What a verified log says of replaced keys and of a federation's state, and what it refuses."""

from collections.abc import Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle, signatures
from fgpr.auditlog.entries import Enrolled, KeyReplaced, Leaf, Revoked, RoundPlanned, StateChanged
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import verify_trail
from fgpr.errors import VerificationError
from fgpr.message import Signed
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import LogPosition
from support import samples

KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(1, 5)]
FIRST, SECOND, THIRD, _ = KEYS
ENROLLED = Enrolled(
    federation="engines", client="me", role="client", identity_key=signatures.public_bytes(FIRST), declared=None
)


def verified(leaves: Sequence[Leaf]) -> Trail:
    raw = [leaf.encode() for leaf in leaves]
    position = LogPosition(size=len(raw), root=merkle.root([merkle.leaf_hash(leaf) for leaf in raw]))
    made = samples.federation()
    return verify_trail(raw, position, made.anchors.service_key, {"engines": made.anchors.roster_key})


def replaced(
    old: Ed25519PrivateKey, new: Ed25519PrivateKey, client: str = "me", federation: str = "engines"
) -> KeyReplaced:
    rotation = SignedKeyChange.make(federation, client, old, new)
    return KeyReplaced(federation="engines", client="me", rotation=rotation, declared=None)


def test_the_present_key_follows_from_the_changes() -> None:
    trail = verified([ENROLLED, replaced(FIRST, SECOND), replaced(SECOND, THIRD)])
    assert trail.enrolled == {("engines", "me"): signatures.public_bytes(THIRD)}


@pytest.mark.parametrize(
    ("leaves", "reason"),
    [
        ([ENROLLED, replaced(SECOND, THIRD)], "does not have the key that is replaced"),
        ([ENROLLED, replaced(FIRST, SECOND), replaced(FIRST, THIRD)], "does not have the key that is replaced"),
        ([replaced(FIRST, SECOND)], "does not have the key that is replaced"),
        ([ENROLLED, replaced(FIRST, SECOND, client="you")], "the key change is not me's"),
        ([ENROLLED, replaced(FIRST, SECOND, federation="others")], "the key change is not me's"),
        (
            [ENROLLED, Revoked(federation="engines", client="me", by="operator"), replaced(FIRST, SECOND)],
            "was revoked, and has another key",
        ),
        ([ENROLLED, replaced(FIRST, FIRST)], "the new key is the old one|new key is the old one"),
    ],
)
def test_what_is_no_change_of_a_key(leaves: list[Leaf], reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        verified(leaves)


@pytest.mark.parametrize("field", ["by_old", "by_new"])
def test_each_key_has_to_sign(field: str) -> None:
    leaf = replaced(FIRST, SECOND)
    forged = leaf.rotation.model_copy(update={field: SignedKeyChange.make("engines", "me", THIRD, THIRD).by_old})
    with pytest.raises(VerificationError, match="fgpr-v1/key-change"):
        verified([ENROLLED, leaf.model_copy(update={"rotation": forged})])


def state(name: str) -> StateChanged:
    return StateChanged.from_json({"kind": "state", "federation": "engines", "state": name, "reason": "so"})


def test_the_state_follows_from_its_changes() -> None:
    assert verified([]).states == {}
    assert verified([state("paused")]).states == {"engines": "paused"}
    assert verified([state("paused"), state("resumed"), state("released")]).states == {"engines": "open"}
    assert verified([state("closed")]).states == {"engines": "closed"}
    with pytest.raises(VerificationError, match="a closed federation is changed again"):
        verified([state("closed"), state("resumed")])


def test_no_round_opens_after_the_end() -> None:
    made = samples.federation()
    plan = RoundPlanned(federation="engines", plan=made.rounds[1].plan)
    assert verified([plan]).plans
    with pytest.raises(VerificationError, match="opens in a federation that was closed"):
        verified([state("closed"), plan])


def declared(key: Ed25519PrivateKey, weight: int = 7) -> Signed[DeclaredWeight]:
    return Signed[DeclaredWeight].make(key, DeclaredWeight(federation="engines", client="me", weight=weight))


WEIGHED = ENROLLED.model_copy(update={"declared": declared(FIRST)})


def test_a_declared_weight_goes_along() -> None:
    leaf = replaced(FIRST, SECOND).model_copy(update={"declared": declared(SECOND)})
    assert verified([WEIGHED, leaf]).declared == {("engines", "me"): (declared(FIRST), declared(SECOND))}


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        (WEIGHED, None, "another weight under its new key"),
        (WEIGHED, declared(SECOND, 8), "another weight under its new key"),
        (ENROLLED, declared(SECOND), "another weight under its new key"),
        (WEIGHED, declared(FIRST), "fgpr-v1/declared-weight"),
    ],
)
def test_another_weight_does_not(first: Enrolled, then: Signed[DeclaredWeight] | None, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        verified([first, replaced(FIRST, SECOND).model_copy(update={"declared": then})])
