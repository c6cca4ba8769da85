"""The base of everything that is hashed, signed or sent: frozen, strict, with one encoding and one decoding.

A message is JSON. Bytes in it are standard base64, times are UTC to the millisecond, unknown fields are refused. Its
digest and the signatures over it use the canonical bytes (`fgpr.canonical`) and the message's own label.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from fgpr import canonical, signatures
from fgpr.errors import EncodingError


def _bytes_from_text(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError("bytes are written as base64 text")
    try:
        return canonical.from_text(value)
    except EncodingError as error:
        raise ValueError(str(error)) from error


Bytes = Annotated[bytes, BeforeValidator(_bytes_from_text), PlainSerializer(canonical.to_text, return_type=str)]
Digest = Annotated[Bytes, Field(min_length=canonical.DIGEST_BYTES, max_length=canonical.DIGEST_BYTES)]
PublicKey = Annotated[Bytes, Field(min_length=signatures.KEY_BYTES, max_length=signatures.KEY_BYTES)]
Signature = Annotated[Bytes, Field(min_length=signatures.SIGNATURE_BYTES, max_length=signatures.SIGNATURE_BYTES)]
Name = Annotated[str, Field(pattern=r"\A[a-z0-9-]{1,64}\z")]
"""The name of a federation or the id of a client (a party), unique in its federation."""
Count = Annotated[int, Field(ge=0, le=2**53)]
Timestamp = Annotated[str, Field(pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\z")]
"""UTC, to the millisecond, as in 2031-03-09T21:30:00.000Z."""


def timestamp(moment: datetime) -> str:
    """The one spelling of an instant in a message.

    Raises:
        EncodingError: `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise EncodingError(f"{moment.isoformat()} has no time zone; write times with one")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """The inverse of `timestamp`."""
    return datetime.fromisoformat(text)


class Message(BaseModel):
    """A frozen value with one JSON form.

    Attributes:
        label: what the message is for; part of its digest and of each signature over it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)
    label: ClassVar[str] = ""

    @classmethod
    def decode(cls, raw: bytes) -> Self:
        """The message in `raw`.

        Raises:
            EncodingError: not JSON as `canonical.parse` takes it, or not of this message's form; names the field.
        """
        canonical.parse(raw)
        try:
            return cls.model_validate_json(raw)
        except ValidationError as error:
            raise EncodingError(describe(cls.__name__, error)) from None

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The message in a parsed JSON value; raises as `decode` does."""
        return cls.decode(canonical.encode(value))

    def to_json(self) -> dict[str, Any]:
        """The message as a JSON object."""
        return self.model_dump(mode="json")

    def encode(self) -> bytes:
        """Canonical bytes."""
        return canonical.encode(self.to_json())

    def digest(self) -> bytes:
        """H(message), 32 bytes."""
        return canonical.digest(self.label, self.to_json())


M = TypeVar("M", bound=Message)


class Signed(Message, Generic[M]):
    """A message with one signature over its label and canonical bytes."""

    message: M
    signature: Signature

    @classmethod
    def make(cls, key: Ed25519PrivateKey, message: M) -> Self:
        """`message`, signed with `key`."""
        return cls(message=message, signature=signatures.sign(key, message.label, message.to_json()))

    def verify(self, public_key: bytes) -> None:
        """Check the signature.

        Raises:
            VerificationError: it is not `public_key`'s over this message.
        """
        signatures.verify(public_key, self.message.label, self.message.to_json(), self.signature)


def describe(name: str, error: ValidationError) -> str:
    """One line that names the first bad fields, without what was sent: that may be a secret."""
    faults = [f"{'.'.join(str(part) for part in fault['loc']) or name}: {fault['msg']}" for fault in error.errors()]
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return f"{name}: " + "; ".join(faults[:3]) + more
