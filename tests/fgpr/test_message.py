from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ValidationError

from fgpr import canonical, signatures
from fgpr.errors import EncodingError, VerificationError
from fgpr.message import (
    Bytes,
    Count,
    Digest,
    Message,
    Name,
    PublicKey,
    Signature,
    Signed,
    Timestamp,
    instant,
    timestamp,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


class Reading(Message):
    """A message for these tests."""

    label: ClassVar[str] = "fgpr-v1/reading"

    name: Name
    number: Count
    share: float
    raw: Bytes
    at: Timestamp
    tags: tuple[str, ...] = ()


class Writing(Message):
    """The same fields under another label."""

    label: ClassVar[str] = "fgpr-v1/writing"

    name: Name


READING = Reading(name="bench-7", number=3, share=0.25, raw=b"\x00\xff", at="2031-03-09T21:30:00.000Z", tags=("a", "b"))


def test_one_encoding_and_one_decoding() -> None:
    encoded = READING.encode()
    assert encoded == (
        b'{"at":"2031-03-09T21:30:00.000Z","name":"bench-7","number":3,"raw":"AP8=","share":0.25,"tags":["a","b"]}'
    )
    assert Reading.decode(encoded) == READING
    assert Reading.decode(encoded).encode() == encoded
    assert Reading.from_json(READING.to_json()) == READING
    assert READING.digest() == canonical.digest("fgpr-v1/reading", READING.to_json())


def test_another_spelling_of_the_same_json_has_the_same_digest() -> None:
    spaced = READING.encode().replace(b",", b" ,\n ").replace(b"0.25", b"2.5e-1")
    assert Reading.decode(spaced).digest() == READING.digest()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"number":3', b'"number":true', "number: "),
        (b'"number":3', b'"number":"3"', "number: "),
        (b'"number":3', b'"number":3.0', "number: "),
        (b'"number":3', b'"number":-1', "number: "),
        (b'"number":3', b'"number":9007199254740992', "number: "),
        (b'"number":3', b'"number":null', "number: "),
        (b'"share":0.25', b'"share":true', "share: "),
        (b'"share":0.25', b'"share":"0.25"', "share: "),
        (b'"share":0.25', b'"share":NaN', "NaN is not JSON"),
        (b'"share":0.25', b'"share":1e999', "beyond the range"),
        (b'"share":0.25', b'"share":0.25,"share":0.25', "repeated key 'share'"),
        (b'"share":0.25', b'"share":0.25,"colour":1', "colour: "),
        (b',"share":0.25', b"", "share: Field required"),
        (b'"AP8="', b'"AP9="', "raw: .*base64"),
        (b'"AP8="', b'"AP8"', "raw: .*base64"),
        (b'"AP8="', b"[0,255]", "raw: .*base64 text"),
        (b'"bench-7"', b'"Bench-7"', "name: "),
        (b'"bench-7"', b'"bench-7\\n"', "name: "),
        (b'"bench-7"', b'"' + b"b" * 65 + b'"', "name: "),
        (b'["a","b"]', b'"ab"', "tags: "),
        (b'["a","b"]', b'["a",1]', "tags.1: "),
        (b'["a","b"]', b"[" * 40 + b"]" * 40, "nested deeper"),
        (b"21:30:00.000Z", b"21:30:00Z", "at: "),
        (b"21:30:00.000Z", b"21:30:00.000+00:00", "at: "),
        (b"21:30:00.000Z", b"24:30:00.000Z", "at: "),
        (b"2031-03-09", b"2031-02-30", "at: "),
        (b"2031-03-09", "٢٠٣١-03-09".encode(), "at: "),
        (b"{", b"[{", "JSON"),
    ],
)
def test_decoding_is_strict_and_names_the_field(old: bytes, new: bytes, reason: str) -> None:
    raw = READING.encode()
    assert raw.count(old) == 1
    with pytest.raises(EncodingError, match=reason):
        Reading.decode(raw.replace(old, new))


def test_what_was_sent_is_not_in_the_error() -> None:
    with pytest.raises(EncodingError) as raised:
        Reading.decode(READING.encode().replace(b'"AP8="', b'"hunter2-hunter2"'))
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ValidationError) as local:
        Reading.model_validate(dict(READING) | {"raw": "hunter2-hunter2"})
    assert "hunter2" not in str(local.value)


def test_a_changed_copy_is_written_down_anew() -> None:
    assert READING.encode() == READING.encode()
    before = READING.digest()
    changed = READING.model_copy(update={"number": 4})
    assert Reading.decode(changed.encode()).number == 4
    assert changed.digest() == Reading.decode(changed.encode()).digest() != before
    assert changed != READING
    assert Reading.decode(READING.encode()) == READING


def test_many_bad_fields_are_counted() -> None:
    with pytest.raises(EncodingError, match="and 2 more"):
        Reading.decode(b"{}")


def test_a_message_is_frozen() -> None:
    with pytest.raises(ValidationError):
        READING.number = 4  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize(("kind", "length"), [(PublicKey, 32), (Signature, 64)])
def test_keys_and_signatures_have_their_length(kind: Any, length: int) -> None:
    class Keyed(Message):
        """Holds one of them."""

        value: kind

    assert Keyed.from_json({"value": canonical.to_text(bytes(length))}).value == bytes(length)
    for other in (0, length - 1, length + 1):
        with pytest.raises(EncodingError, match="value: "):
            Keyed.from_json({"value": canonical.to_text(bytes(other))})


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_digest_has_32_bytes(length: int) -> None:
    class Hashed(Message):
        """Holds one digest."""

        hash: Digest

    with pytest.raises(EncodingError, match="hash"):
        Hashed.decode(canonical.encode({"hash": canonical.to_text(bytes(length))}))


def test_a_signed_message_is_bound_to_key_label_and_content() -> None:
    signed = Signed[Reading].make(KEY, READING)
    public = signatures.public_bytes(KEY)
    signed.verify(public)
    assert Signed[Reading].decode(signed.encode()) == signed
    assert Signed[Reading].decode(signed.encode()).encode() == signed.encode()
    changed = signed.model_copy(update={"message": READING.model_copy(update={"number": 4})})
    with pytest.raises(VerificationError):
        changed.verify(public)
    with pytest.raises(VerificationError):
        signed.verify(signatures.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)))
    named = Writing(name="bench-7")
    relabelled = Signed[Writing](message=named, signature=signatures.sign(KEY, "fgpr-v1/reading", named.encode()))
    with pytest.raises(VerificationError):
        relabelled.verify(public)


def test_a_message_of_another_kind_is_not_decoded() -> None:
    with pytest.raises(EncodingError, match=r"message\.number"):
        Signed[Reading].decode(Signed[Writing].make(KEY, Writing(name="bench-7")).encode())


def test_an_instant_has_one_spelling() -> None:
    moment = datetime(2031, 3, 9, 22, 30, 0, 123_999, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp(moment) == "2031-03-09T21:30:00.123Z"
    assert instant("2031-03-09T21:30:00.123Z") == datetime(2031, 3, 9, 21, 30, 0, 123_000, tzinfo=UTC)
    with pytest.raises(EncodingError, match="no time zone"):
        timestamp(datetime(2031, 3, 9))
