"""Canonical JSON (RFC 8785), strict parsing, and labelled digests.

Whatever is hashed or signed as JSON goes through `encode`; whatever comes in goes through `parse`, which refuses
what two parsers could read differently: repeated keys, NaN and Infinity, numbers beyond the floats, bytes that are
not UTF-8, deep nesting.
"""

import base64
import binascii
import hashlib
import json
import math
import re
from collections import Counter
from typing import Any

import rfc8785

from fgpr.errors import EncodingError

MAX_DEPTH = 32
"""Deepest nesting of arrays and objects that `parse` takes."""

DIGEST_BYTES = 32

# A string that nobody closed runs to the end: one look at each byte, whatever the input.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_LONG_INTEGER = re.compile(rb"(?<![0-9.eE+-])-?([0-9]{16,})(?![0-9.eE])")
_BRACKET = re.compile(rb"[\[\]{}]")


def encode(value: Any) -> bytes:
    """Canonical bytes of a JSON value (RFC 8785).

    Raises:
        EncodingError: the value holds a non-finite number, a whole number beyond 2^53 - 1 or something that is not
            JSON.
    """
    try:
        encoded = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise EncodingError(f"not canonical JSON: {error}") from error
    # A float of that size is written as an integer, which would be read as one and could not be encoded again.
    for digits in _LONG_INTEGER.findall(_STRING.sub(b"", encoded)):
        if int(digits) >= 2**53:
            raise EncodingError(f"not canonical JSON: the whole number {int(digits)} is beyond 2^53 - 1")
    return encoded


def parse(raw: bytes) -> Any:
    """The JSON value in `raw`.

    Raises:
        EncodingError: not UTF-8, not JSON, a repeated key, a number that is not finite, or nested deeper than
            `MAX_DEPTH`.
    """
    _check_depth(raw)
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise EncodingError(f"not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
    except ValueError as error:
        raise EncodingError(f"not JSON: {error}") from error


def digest(label: str, value: Any) -> bytes:
    """H(value): SHA-256 over the label, a zero byte and the canonical JSON; 32 bytes."""
    return digest_of_encoded(label, encode(value))


def digest_of_encoded(label: str, encoded: bytes) -> bytes:
    """The same, for canonical JSON that is at hand; 32 bytes."""
    return hashlib.sha256(label.encode() + b"\0" + encoded).digest()


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
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise EncodingError(f"repeated key {name!r}")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise EncodingError(f"{text[:40]} is beyond the range of floats")
    return number


def _no_constant(name: str) -> Any:
    raise EncodingError(f"{name} is not JSON")


def _check_depth(raw: bytes) -> None:
    # Counting brackets before parsing keeps the recursive parser off its limit; strings go first, brackets and all.
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise EncodingError(f"nested deeper than {MAX_DEPTH}")
