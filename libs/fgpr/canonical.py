"""Canonical JSON (RFC 8785), strict parsing, and labelled digests.

Whatever is hashed or signed as JSON goes through `encode`; whatever comes in goes through `parse`, which refuses
what two parsers could read differently: repeated keys, NaN and Infinity, bytes that are not UTF-8, deep nesting.
"""

import base64
import binascii
import hashlib
import json
import re
from typing import Any

import rfc8785

from fgpr.errors import EncodingError

MAX_DEPTH = 32
"""Deepest nesting of arrays and objects that `parse` takes."""

DIGEST_BYTES = 32

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def encode(value: Any) -> bytes:
    """Canonical bytes of a JSON value (RFC 8785).

    Raises:
        EncodingError: the value holds a non-finite number, an integer beyond 2^53 or something that is not JSON.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise EncodingError(f"not canonical JSON: {error}") from error


def parse(raw: bytes) -> Any:
    """The JSON value in `raw`.

    Raises:
        EncodingError: not UTF-8, not JSON, a repeated key, NaN or Infinity, or nested deeper than `MAX_DEPTH`.
    """
    _check_depth(raw)
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise EncodingError(f"not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
    except ValueError as error:
        raise EncodingError(f"not JSON: {error}") from error


def digest(label: str, value: Any) -> bytes:
    """H(value): SHA-256 over the label, a zero byte and the canonical JSON; 32 bytes."""
    return hashlib.sha256(label.encode() + b"\0" + encode(value)).digest()


def to_text(raw: bytes) -> str:
    """Bytes as standard base64 with padding, the form that bytes have in every message."""
    return base64.b64encode(raw).decode("ascii")


def from_text(text: str) -> bytes:
    """The inverse of `to_text`, for canonical base64 only.

    Raises:
        EncodingError: not base64, or not the one spelling that `to_text` gives.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EncodingError(f"not base64: {error}") from error
    if to_text(raw) != text:
        raise EncodingError("base64 with stray bits: another spelling of the same bytes")
    return raw


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise EncodingError(f"repeated key {repeated[0]!r}")
    return fields


def _no_constant(name: str) -> Any:
    raise EncodingError(f"{name} is not JSON")


def _check_depth(raw: bytes) -> None:
    # Counting brackets before parsing keeps the recursive parser off its limit; strings go first, brackets and all.
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise EncodingError(f"nested deeper than {MAX_DEPTH}")
