import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from fgpr import merkle, signatures
from fgpr.auditlog import checkpoint, note
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import EncodingError, VerificationError

NAME = "fgpr.example/log"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = signatures.public_bytes(KEY)

# The example of C2SP tlog-checkpoint.
EXAMPLE = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
ROOT_TEXT = EXAMPLE.split("\n")[2]
ROOT = base64.b64decode(ROOT_TEXT)


def test_the_example_of_the_specification() -> None:
    head = Checkpoint.from_text(EXAMPLE)
    assert head == Checkpoint("example.com/behind-the-sofa", 20852163, ROOT)
    assert head.to_text() == EXAMPLE


def test_the_empty_log() -> None:
    text = Checkpoint(NAME, 0, merkle.EMPTY_ROOT).to_text()
    assert text == f"{NAME}\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"


@given(st.text(min_size=1).filter(str.isprintable), st.integers(0, 2**53), st.binary(min_size=32, max_size=32))
def test_decoding_and_encoding_are_inverse(origin: str, size: int, root: bytes) -> None:
    head = Checkpoint(origin, size, root)
    text = head.to_text()
    assert Checkpoint.from_text(text) == head
    assert Checkpoint.from_text(text).to_text() == text
    assert checkpoint.open_note(checkpoint.sign(head, NAME, KEY), NAME, PUBLIC) == head


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        EXAMPLE[:-1],
        EXAMPLE + "\n",
        EXAMPLE + "extension\n",
        f"\n5\n{ROOT_TEXT}\n",
        f"a\x0bb\n5\n{ROOT_TEXT}\n",
        f"{NAME}\n05\n{ROOT_TEXT}\n",
        f"{NAME}\n+5\n{ROOT_TEXT}\n",
        f"{NAME}\n-5\n{ROOT_TEXT}\n",
        f"{NAME}\n 5\n{ROOT_TEXT}\n",
        f"{NAME}\n\u0665\n{ROOT_TEXT}\n",
        f"{NAME}\n{2**53 + 1}\n{ROOT_TEXT}\n",
        f"{NAME}\n{'9' * 5000}\n{ROOT_TEXT}\n",
        f"{NAME}\n5\n{ROOT_TEXT[:-1]}\n",
        f"{NAME}\n5\n{ROOT_TEXT[:-2]}J=\n",
        f"{NAME}\n5\n{base64.b64encode(ROOT[:31]).decode()}\n",
        f"{NAME}\n5\n\n",
    ],
)
def test_texts_that_are_no_checkpoint(text: str) -> None:
    with pytest.raises(EncodingError):
        Checkpoint.from_text(text)


@pytest.mark.parametrize(
    ("origin", "size", "root"),
    [("", 5, ROOT), ("two\nlines", 5, ROOT), (NAME, -1, ROOT), (NAME, 2**53 + 1, ROOT), (NAME, 5, ROOT[:31])],
)
def test_values_that_are_no_checkpoint(origin: str, size: int, root: bytes) -> None:
    with pytest.raises(EncodingError):
        Checkpoint(origin, size, root)


def test_another_size_or_root_under_the_same_signature_is_refused() -> None:
    signed = checkpoint.sign(Checkpoint(NAME, 5, ROOT), NAME, KEY)
    for old, new in (("\n5\n", "\n6\n"), ("Cs", "Ds"), (f"{NAME}\n5", "fgpr.example/fork\n5")):
        assert old in signed
        with pytest.raises(VerificationError, match="does not hold"):
            checkpoint.open_note(signed.replace(old, new, 1), NAME, PUBLIC)


def test_a_checkpoint_of_another_key_or_name_is_refused() -> None:
    signed = checkpoint.sign(Checkpoint(NAME, 5, ROOT), NAME, KEY)
    other = signatures.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    with pytest.raises(VerificationError, match="no signature"):
        checkpoint.open_note(signed, NAME, other)
    with pytest.raises(VerificationError, match="no signature"):
        checkpoint.open_note(signed, "fgpr.example/fork", PUBLIC)


def test_a_signed_text_that_is_no_checkpoint_is_refused() -> None:
    with pytest.raises(EncodingError, match="three lines"):
        checkpoint.open_note(note.sign("hello\n", NAME, KEY), NAME, PUBLIC)
