import base64
import hashlib

import pytest
from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, signatures
from fgpr.errors import CryptographicError, VerificationError

# RFC 8032, section 7.1, test 2.
SECRET = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
OVER_72 = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
KEY = Ed25519PrivateKey.from_private_bytes(SECRET)
VALUE = canonical.encode({"b": 2, "a": [1.0, "x"]})


def test_the_vector_of_rfc_8032() -> None:
    assert signatures.public_bytes(KEY) == PUBLIC
    assert KEY.sign(b"\x72") == OVER_72
    signatures.load_public(PUBLIC).verify(OVER_72, b"\x72")
    assert signatures.holds(PUBLIC, b"\x72", OVER_72)
    assert not signatures.holds(PUBLIC, b"\x73", OVER_72)
    assert not signatures.holds(PUBLIC, b"\x72", OVER_72[:-1])
    assert not signatures.holds(PUBLIC, b"\x72", OVER_72 + bytes(1))


def test_a_key_of_small_order_signs_nothing() -> None:
    """The neutral point as key and nonce, and s = 0, hold for every message by the equation of RFC 8032, 5.1.7."""
    neutral = b"\x01" + bytes(31)
    forged = neutral + bytes(32)
    # OpenSSL follows the equation; that is why it does not judge what goes into the log.
    signatures.load_public(neutral).verify(forged, b"anything")
    assert not signatures.holds(neutral, b"anything", forged)


# The neutral point, those of order 2 and 4, one of order 8 (Bernstein et al., on Ed25519), and no point at all.
@pytest.mark.parametrize(
    "key",
    [
        b"\x01" + bytes(31),
        b"\xec" + 30 * b"\xff" + b"\x7f",
        bytes(32),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        b"\x02" + bytes(31),
        PUBLIC[:-1],
    ],
)
def test_a_key_by_which_anybody_could_sign_is_nobody_s(key: bytes) -> None:
    signatures.check_key(PUBLIC)
    with pytest.raises(CryptographicError, match="prime order"):
        signatures.check_key(key)


def test_a_signature_is_over_label_zero_byte_and_canonical_json_as_another_library_reads_it() -> None:
    signature = signatures.sign(KEY, "fgpr-v1/test", VALUE)
    other = eddsa.new(ECC.construct(curve="Ed25519", seed=SECRET), "rfc8032")
    assert signature == other.sign(b'fgpr-v1/test\x00{"a":[1,"x"],"b":2}')
    assert len(signature) == signatures.SIGNATURE_BYTES
    signatures.verify(PUBLIC, "fgpr-v1/test", VALUE, signature)


def test_a_signature_is_for_one_key_one_label_and_one_value() -> None:
    signature = signatures.sign(KEY, "fgpr-v1/test", VALUE)
    other = signatures.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    for key, label, value in [
        (other, "fgpr-v1/test", VALUE),
        (PUBLIC, "fgpr-v1/other", VALUE),
        (PUBLIC, "fgpr-v1/test", canonical.encode({"b": 3, "a": [1.0, "x"]})),
        (PUBLIC, "fgpr-v1/test\0", VALUE),
    ]:
        with pytest.raises(VerificationError, match="does not hold"):
            signatures.verify(key, label, value, signature)


@pytest.mark.parametrize("bit", range(0, 512, 37))
def test_a_signature_with_a_bit_flipped_does_not_hold(bit: int) -> None:
    changed = bytearray(signatures.sign(KEY, "fgpr-v1/test", VALUE))
    changed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(VerificationError):
        signatures.verify(PUBLIC, "fgpr-v1/test", VALUE, bytes(changed))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_public_key_has_32_bytes(length: int) -> None:
    with pytest.raises(CryptographicError, match="32 bytes"):
        signatures.verify(bytes(length), "fgpr-v1/test", VALUE, bytes(64))


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_another_length_does_not_hold(length: int) -> None:
    with pytest.raises(VerificationError):
        signatures.verify(PUBLIC, "fgpr-v1/test", VALUE, bytes(length))


def test_a_key_id_is_the_hash_of_the_public_key() -> None:
    text = signatures.key_id(PUBLIC)
    assert base64.urlsafe_b64decode(text + "=") == hashlib.sha256(PUBLIC).digest()
    assert len(text) == 43
    assert "=" not in text
