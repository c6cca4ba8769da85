"""Canonical JSON (RFC 8785), strict parsing, and labelled digests.

Whatever is hashed or signed as JSON goes through `encode`; whatever comes in goes through `parse`, which refuses
what two parsers could read differently: repeated keys, NaN and Infinity, numbers beyond the floats, bytes that are
not UTF-8, deep nesting.
"""

import binascii
import hashlib
import json
import math
import re
from collections import Counter
from json.encoder import encode_basestring
from typing import Any

import rfc8785

from fgpr.errors import EncodingError

MAX_DEPTH = 32
"""Deepest nesting of arrays and objects that `parse` takes."""

DIGEST_BYTES = 32

# A string that nobody closed runs to the end: one look at each byte, whatever the input.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_CONSTANTS = {True: "true", False: "false", None: "null"}


def encode(value: Any) -> bytes:
    """Canonical bytes of a JSON value (RFC 8785).

    Raises:
        EncodingError: the value holds a non-finite number, a whole number beyond 2^53 - 1 or something that is not
            JSON.
    """
    try:
        return _written(value).encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodingError(f"not canonical JSON: {error.reason} at character {error.start}") from error


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
    return binascii.b2a_base64(raw, newline=False).decode("ascii")


def from_text(text: str) -> bytes:
    """The inverse of `to_text`, for canonical base64 only.

    Raises:
        EncodingError: not base64, or not the one spelling that `to_text` gives.
    """
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise EncodingError(f"not base64: {error}") from error
    if to_text(raw) != text:
        raise EncodingError("base64 with stray bits: another spelling of the same bytes")
    return raw


def _written(value: Any) -> str:
    # Messages are mostly text, lists and objects of text: for these the standard library's own quoting is canonical.
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is dict:
        return "{" + ",".join([f"{encode_basestring(key)}:{_written(value[key])}" for key in _ordered(value)]) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([_written(inner) for inner in value]) + "]"
    if kind is int and -(2**53) < value < 2**53:
        return str(value)
    if kind is bool or value is None:
        return _CONSTANTS[value]
    if kind is float and 1e-4 <= abs(value) < 1e15:
        # Python and ECMAScript write the same shortest digits, and neither has an exponent here.
        return repr(value).removesuffix(".0")
    try:
        number = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise EncodingError(f"not canonical JSON: {error}") from error
    # A float of that size is written as an integer, which would be read as one and could not be encoded again.
    if kind is float and abs(value) >= 2**53 and number.lstrip(b"-").isdigit():
        raise EncodingError(f"not canonical JSON: the whole number {int(number)} is beyond 2^53 - 1")
    return number.decode("utf-8")


def _ordered(fields: dict[Any, Any]) -> list[str]:
    # RFC 8785, 3.2.3: by UTF-16 code units, which is the plain order of ASCII.
    try:
        plain = "".join(fields).isascii()
    except TypeError as error:
        raise EncodingError("not canonical JSON: object keys must be strings") from error
    if plain:
        return sorted(fields)
    return sorted(fields, key=lambda key: key.encode("utf-16-be"))


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
