"""The base of everything that is hashed, signed or sent: frozen, strict, with one encoding and one decoding.

A message is JSON. Bytes in it are standard base64, times are UTC to the millisecond, unknown fields are refused. Its
digest and the signatures over it use the canonical bytes (`fgpr.canonical`) and the message's own label.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)

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


def _real_instant(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Bytes = Annotated[
    bytes,
    BeforeValidator(_bytes_from_text),
    PlainSerializer(canonical.to_text, return_type=str),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]


def _base64_of(size: int) -> WithJsonSchema:
    # OpenAPI counts the characters of the text.
    length = 4 * -(-size // 3)
    return WithJsonSchema(
        {"type": "string", "contentEncoding": "base64", "minLength": length, "maxLength": length},
    )


Digest = Annotated[
    Bytes,
    Field(min_length=canonical.DIGEST_BYTES, max_length=canonical.DIGEST_BYTES),
    _base64_of(canonical.DIGEST_BYTES),
]
PublicKey = Annotated[
    Bytes, Field(min_length=signatures.KEY_BYTES, max_length=signatures.KEY_BYTES), _base64_of(signatures.KEY_BYTES)
]
Signature = Annotated[
    Bytes,
    Field(min_length=signatures.SIGNATURE_BYTES, max_length=signatures.SIGNATURE_BYTES),
    _base64_of(signatures.SIGNATURE_BYTES),
]
NAME_PATTERN = r"\A[a-z0-9-]{1,64}\z"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""The name of a federation or the id of a client (a party), unique in its federation."""
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Timestamp = Annotated[
    str,
    Field(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\z"),
    AfterValidator(_real_instant),
]
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
    """The inverse of `timestamp`, for what a message's `Timestamp` holds."""
    return datetime.fromisoformat(text)


class Message(BaseModel):
    """A frozen value with one JSON form.

    Attributes:
        label: what the message is for; part of its digest and of each signature over it.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)
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
        return self._encoded

    def digest(self) -> bytes:
        """H(message), 32 bytes."""
        return self._digest

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, unchecked; what was written down of this one is not taken along."""
        copied = super().model_copy(update=update, deep=deep)
        for written in ("_encoded", "_digest"):
            copied.__dict__.pop(written, None)
        return copied

    @cached_property
    def _encoded(self) -> bytes:
        # A plan is signed, hashed and stored: writing it down takes longer than any of these.
        return canonical.encode(self.to_json())

    @cached_property
    def _digest(self) -> bytes:
        # Every contribution names its plan, and every opening its cohort.
        return canonical.digest_of_encoded(self.label, self._encoded)


M = TypeVar("M", bound=Message)


class Signed(Message, Generic[M]):
    """A message with one signature over its label and canonical bytes."""

    message: M
    signature: Signature

    @classmethod
    def make(cls, key: Ed25519PrivateKey, message: M) -> Self:
        """`message`, signed with `key`."""
        return cls(message=message, signature=signatures.sign(key, message.label, message.encode()))

    def verify(self, public_key: bytes) -> None:
        """Check the signature.

        Raises:
            VerificationError: it is not `public_key`'s over this message.
        """
        signatures.verify(public_key, self.message.label, self.message.encode(), self.signature)


def describe(name: str, error: ValidationError) -> str:
    """One line that names the first bad fields, without what was sent: that may be a secret."""
    faults = [f"{'.'.join(str(part) for part in fault['loc']) or name}: {fault['msg']}" for fault in error.errors()]
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return f"{name}: " + "; ".join(faults[:3]) + more
