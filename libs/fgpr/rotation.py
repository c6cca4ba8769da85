"""Replacing an identity key: both keys sign the change, so that whoever reads it trusts neither side's word for it.

The old key's signature shows that its holder wants the change, the new key's that the holder has it. Both stand in the
audit log, from which anybody follows which key was a client's when.
"""

from typing import ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import signatures
from fgpr.errors import VerificationError
from fgpr.message import Message, Name, PublicKey, Signature, Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import OpeningKey


class KeyChange(Message):
    """One holder's key gives way to another.

    Attributes:
        federation: the client's federation; None for operators and auditors, who belong to none.
        holder: id of the client, name of the operator or auditor.
        old_key: the present identity key, 32 bytes.
        new_key: the one that takes its place, 32 bytes.
    """

    label: ClassVar[str] = "fgpr-v1/key-change"

    federation: Name | None
    holder: Name
    old_key: PublicKey
    new_key: PublicKey


class SignedKeyChange(Message):
    """A change with the signatures of both keys."""

    change: KeyChange
    by_old: Signature
    by_new: Signature

    @classmethod
    def make(cls, federation: str | None, holder: str, old: Ed25519PrivateKey, new: Ed25519PrivateKey) -> Self:
        """The change from `old` to `new`, signed by both."""
        change = KeyChange(
            federation=federation,
            holder=holder,
            old_key=signatures.public_bytes(old),
            new_key=signatures.public_bytes(new),
        )
        by_old, by_new = (signatures.sign(key, change.label, change.encode()) for key in (old, new))
        return cls(change=change, by_old=by_old, by_new=by_new)

    def verify(self) -> None:
        """Check both signatures.

        Raises:
            VerificationError: one does not hold, or the new key is the old one.
        """
        change = self.change
        if change.old_key == change.new_key:
            raise VerificationError(f"{change.holder}'s new key is the old one: make another")
        signatures.verify(change.old_key, change.label, change.encode(), self.by_old)
        signatures.verify(change.new_key, change.label, change.encode(), self.by_new)


class RotationRequest(Message):
    """What a holder sends to have its key replaced; the HTTP request is signed with the old key.

    Attributes:
        signed: the change.
        opening_key: a client's next opening key, signed by the new key: those before it bear the old one's signature.
            None for readers, operators and auditors.
        declared: the weight that a client declared when it enrolled, under the new key: rosters name the two together.
            None where it declared none.
    """

    signed: SignedKeyChange
    opening_key: Signed[OpeningKey] | None
    declared: Signed[DeclaredWeight] | None


class RotationReceipt(Message):
    """The answer: from now on this key speaks for the holder, and the old one no more."""

    holder: Name
    key_id: str
