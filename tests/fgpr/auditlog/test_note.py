import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import signatures
from fgpr.auditlog import note
from fgpr.errors import CryptographicError, EncodingError, VerificationError

PETER, ENOCH = json.loads((Path(__file__).parents[2] / "vectors" / "signed_note.json").read_text("utf-8"))
TEXT = PETER["text"]
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = signatures.public_bytes(KEY)


def public_of(vector: dict[str, Any]) -> bytes:
    raw = base64.b64decode(vector["type_and_key"])
    assert raw[:1] == b"\x01"
    return raw[1:]


def line(vector: dict[str, Any]) -> str:
    return f"\u2014 {vector['name']} {vector['signature']}\n"


@pytest.mark.parametrize("vector", [PETER, ENOCH], ids=lambda vector: vector["name"])
def test_the_example_of_go_opens(vector: dict[str, Any]) -> None:
    public = public_of(vector)
    assert note.key_hash(vector["name"], public).hex() == vector["key_hash"]
    assert note.open_signed(f"{TEXT}\n{line(vector)}", vector["name"], public) == TEXT


def test_signing_gives_the_bytes_of_the_example_of_go() -> None:
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(PETER["type_and_seed"])[1:])
    assert note.sign(TEXT, PETER["name"], key) == f"{TEXT}\n{line(PETER)}"


def test_signatures_of_other_keys_are_passed_over_and_either_key_opens_the_note() -> None:
    both = f"{TEXT}\n{line(ENOCH)}{line(PETER)}"
    stranger = f"\u2014 witness.example {base64.b64encode(bytes(68)).decode()}\n"
    for vector in (PETER, ENOCH):
        assert note.open_signed(both + stranger, vector["name"], public_of(vector)) == TEXT


def test_a_shared_name_or_key_hash_alone_names_another_key() -> None:
    wrong = base64.b64encode(bytes.fromhex(PETER["key_hash"]) + bytes(64)).decode()
    other_name = f"\u2014 SomebodyElse {wrong}\n"
    other_hash = f"\u2014 PeterNeumann {base64.b64encode(bytes(68)).decode()}\n"
    opened = note.open_signed(f"{TEXT}\n{other_name}{other_hash}{line(PETER)}", "PeterNeumann", public_of(PETER))
    assert opened == TEXT


def test_a_bad_signature_of_the_named_key_spoils_the_note_even_beside_a_good_one() -> None:
    wrong = base64.b64encode(bytes.fromhex(PETER["key_hash"]) + bytes(64)).decode()
    with pytest.raises(VerificationError, match="does not hold"):
        note.open_signed(f"{TEXT}\n{line(PETER)}\u2014 PeterNeumann {wrong}\n", "PeterNeumann", public_of(PETER))


def test_another_text_is_refused() -> None:
    with pytest.raises(VerificationError, match="'PeterNeumann' on the note does not hold"):
        note.open_signed(f"{TEXT.replace('answer', 'Answer')}\n{line(PETER)}", "PeterNeumann", public_of(PETER))


def test_a_note_without_the_named_signature_is_refused() -> None:
    with pytest.raises(VerificationError, match="no signature of 'PeterNeumann' with key hash c74f20a3"):
        note.open_signed(f"{TEXT}\n{line(ENOCH)}", "PeterNeumann", public_of(PETER))


def test_a_text_with_empty_lines_comes_back_whole() -> None:
    text = "first\n\n\nlast: \u00e8 subito sera\n"
    assert note.open_signed(note.sign(text, "log.example/1", KEY), "log.example/1", PUBLIC) == text


@pytest.mark.parametrize(
    "broken",
    [
        "",
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{line(PETER)}"[:-1],
        f"{TEXT}{line(PETER)}",
        f"{TEXT}\n\n",
        f"{TEXT}\n{line(PETER)}\n",
        f"{TEXT}\n- PeterNeumann {PETER['signature']}\n",
        f"{TEXT}\n\u2014 PeterNeumann\n{line(PETER)}",
        f"{TEXT}\n\u2014  {PETER['signature']}\n",
        f"{TEXT}\n\u2014 Peter+Neumann {PETER['signature']}\n",
        f"{TEXT}\n\u2014 PeterNeumann  {PETER['signature']}\n",
        f"{TEXT}\n\u2014 PeterNeumann {PETER['signature']} \n",
        f"{TEXT}\n\u2014 PeterNeumann {PETER['signature'][:-1]}\n",
        f"{TEXT}\n\u2014 PeterNeumann {PETER['signature'][:-2]}N=\n",
        f"{TEXT}\n\u2014 PeterNeumann x08gow==\n",
        f"{TEXT}\r\n{line(PETER)}",
        f"{TEXT}\tx\n\n{line(PETER)}",
        f"{TEXT}\ud800\n\n{line(PETER)}",
        f"{TEXT}\n" + 101 * line(PETER),
    ],
)
def test_what_is_not_a_note_is_refused(broken: str) -> None:
    with pytest.raises(EncodingError):
        note.open_signed(broken, "PeterNeumann", public_of(PETER))


@pytest.mark.parametrize("text", ["", "no newline", "a\ttab\n", "\ud800\n"])
def test_texts_that_cannot_be_signed(text: str) -> None:
    with pytest.raises(EncodingError):
        note.sign(text, "log.example", KEY)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "a\u2003b", "a\nb"])
def test_names_that_a_key_cannot_have(name: str) -> None:
    with pytest.raises(EncodingError, match="no key name"):
        note.sign("text\n", name, KEY)


def test_a_public_key_of_the_wrong_length_is_refused() -> None:
    short = PUBLIC[:31]
    signature = base64.b64encode(note.key_hash("log.example", short) + bytes(64)).decode()
    with pytest.raises(CryptographicError, match="32 bytes"):
        note.open_signed(f"text\n\n\u2014 log.example {signature}\n", "log.example", short)
