"""A frozen value of the numerics with one JSON form, like `fgpr.message.Message` but without any cryptography.

Subclasses are frozen dataclasses that check themselves when they are made. From JSON they are strict: types are never
converted, unknown fields, NaN and Infinity are refused. `encode` gives canonical bytes (RFC 8785), so that a signature
over a value has one meaning.
"""

from typing import Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from fgpr import canonical
from fgpr.errors import EncodingError


class Record:
    """Base of the values that travel: adds the JSON form to a frozen dataclass."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        value: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json")
        return value

    def encode(self) -> bytes:
        """Canonical bytes."""
        return canonical.encode(self.to_json())

    @classmethod
    def decode(cls, raw: bytes) -> Self:
        """The record in `raw`.

        Raises:
            EncodingError: not JSON as `canonical.parse` takes it, or not of this record's form; names the field.
        """
        canonical.parse(raw)
        try:
            record: Self = _adapter(cls).validate_json(raw)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            place = ".".join(str(part) for part in faults[0]["loc"]) or "the value"
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise EncodingError(f"{cls.__name__}: {place}: {faults[0]['msg']}{more}") from None
        return record

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The record in a parsed JSON value; raises as `decode` does."""
        return cls.decode(canonical.encode(value))


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(record: type[Any]) -> TypeAdapter[Any]:
    """Made once a class: building one takes milliseconds."""
    if record not in _ADAPTERS:
        _ADAPTERS[record] = TypeAdapter(record)
    return _ADAPTERS[record]
