import pytest
from Crypto.Protocol import HPKE
from Crypto.PublicKey import ECC
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from fgpr import canonical
from fgpr.errors import CryptographicError
from fgpr.secagg import envelope
from fgpr.secagg.suites import SUITES

# RFC 9180, appendix A.1 (DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM), base mode.
INFO = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
RECIPIENT = bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
RECIPIENT_PUBLIC = bytes.fromhex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
ENCAPSULATED = bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
KEY = bytes.fromhex("4531685d41d65f03dc48f6b8302c05b0")
BASE_NONCE = bytes.fromhex("56d890e5accaaf011cff4b7d")
PLAINTEXT = bytes.fromhex("4265617574792069732074727574682c20747275746820626561757479")
CIPHERTEXT = bytes.fromhex("f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a")

HOLDER = X25519PrivateKey.from_private_bytes(RECIPIENT)


def info(plan: bytes = bytes(32), sender: str = "a", sender_key: bytes = bytes(32), seat: int = 1) -> bytes:
    return envelope.box_info(plan, sender, sender_key, seat)


def test_a_box_opens_with_the_key_schedule_of_rfc_9180() -> None:
    # The RFC's ciphertext has associated data and ours has none; its key and nonce, from its encapsulated key, are the
    # same, and that they are its is shown by its ciphertext.
    assert AESGCM(KEY).encrypt(BASE_NONCE, PLAINTEXT, b"Count-0") == CIPHERTEXT
    box = ENCAPSULATED + AESGCM(KEY).encrypt(BASE_NONCE, PLAINTEXT, b"")
    assert envelope.open_box(box, HOLDER, INFO) == PLAINTEXT
    with pytest.raises(CryptographicError):
        envelope.open_box(ENCAPSULATED + CIPHERTEXT, HOLDER, INFO)


def test_another_implementation_opens_our_box() -> None:
    box = envelope.seal(PLAINTEXT, RECIPIENT_PUBLIC, INFO)
    assert len(box) == len(PLAINTEXT) + SUITES["x25519"].overhead
    private = ECC.construct(curve="Curve25519", seed=RECIPIENT)
    opener = HPKE.new(receiver_key=private, aead_id=HPKE.AEAD.AES128_GCM, enc=box[:32], info=INFO)
    assert opener.unseal(box[32:]) == PLAINTEXT
    sealer = HPKE.new(receiver_key=private.public_key(), aead_id=HPKE.AEAD.AES128_GCM, info=INFO)
    assert envelope.open_box(sealer.enc + sealer.seal(PLAINTEXT), HOLDER, INFO) == PLAINTEXT


def test_sealing_twice_gives_different_boxes() -> None:
    assert len({envelope.seal(PLAINTEXT, RECIPIENT_PUBLIC, INFO) for _ in range(8)}) == 8


@pytest.mark.parametrize(
    "other", [info(plan=bytes([1]) * 32), info(sender="b"), info(sender_key=bytes([1]) * 32), info(seat=2), b""]
)
def test_a_box_opens_under_its_plan_sender_and_seat_only(other: bytes) -> None:
    box = envelope.seal(PLAINTEXT, RECIPIENT_PUBLIC, info())
    assert envelope.open_box(box, HOLDER, info()) == PLAINTEXT
    with pytest.raises(CryptographicError, match="does not open"):
        envelope.open_box(box, HOLDER, other)


def test_a_box_opens_for_its_seat_s_key_only() -> None:
    box = envelope.seal(PLAINTEXT, RECIPIENT_PUBLIC, info())
    with pytest.raises(CryptographicError, match="does not open"):
        envelope.open_box(box, X25519PrivateKey.from_private_bytes(bytes(32)), info())


@pytest.mark.parametrize("length", [0, 31, 32, 47])
def test_a_box_that_is_too_short_does_not_open(length: int) -> None:
    with pytest.raises(CryptographicError, match="does not open"):
        envelope.open_box(envelope.seal(b"", RECIPIENT_PUBLIC, info())[:length], HOLDER, info())


# The highest bit of the encapsulated key, bit 255, is not part of a point (RFC 7748, section 5).
@pytest.mark.parametrize("bit", [0, 100, 254, 255, 256, 300, 487])
def test_a_box_with_a_bit_flipped_does_not_open(bit: int) -> None:
    box = bytearray(envelope.seal(PLAINTEXT, RECIPIENT_PUBLIC, info()))
    box[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CryptographicError, match="does not open"):
        envelope.open_box(bytes(box), HOLDER, info())


# RFC 7748, section 6.1: with a point of small order the shared secret is zero, whatever the private key.
SMALL_ORDER = [
    bytes(32),
    bytes([1]) + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    (2**255 - 20).to_bytes(32, "little"),
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 18).to_bytes(32, "little"),
    bytes(31) + bytes([128]),
    (2**255 + 2**255 - 20).to_bytes(32, "little"),
]


@pytest.mark.parametrize("key", [*SMALL_ORDER, bytes(31), bytes(33), b""], ids=lambda key: key.hex()[:8] or "empty")
def test_nobody_seals_for_a_key_that_is_none(key: bytes) -> None:
    with pytest.raises(CryptographicError, match="seal for this opening key"):
        envelope.seal(PLAINTEXT, key, info())
    with pytest.raises(CryptographicError, match="seal for this opening key"):
        envelope.check_key(key)


@pytest.mark.parametrize("length", [0, 31, 33, 64, 1216])
def test_a_key_of_another_length_is_refused_before_anybody_seals_for_it(length: int) -> None:
    # The last 32 bytes are a good key each time: the length alone is wrong.
    key = (bytes(1216) + RECIPIENT_PUBLIC)[-length:] if length else b""
    with pytest.raises(CryptographicError, match=f"{length} bytes, not 32"):
        envelope.check_key(key)
    with pytest.raises(CryptographicError, match="32 bytes, not 1216"):
        envelope.check_key(RECIPIENT_PUBLIC, "mlkem768-x25519")


@given(st.binary(min_size=32, max_size=32) | st.integers(0, 2**256 - 1).map(lambda key: key.to_bytes(32, "little")))
def test_a_key_passes_exactly_if_the_library_seals_for_it(key: bytes) -> None:
    try:
        envelope.seal(b"", key, info())
    except CryptographicError:
        with pytest.raises(CryptographicError):
            envelope.check_key(key)
    else:
        envelope.check_key(key)


def test_a_key_that_takes_boxes_passes() -> None:
    envelope.check_key(RECIPIENT_PUBLIC)
    envelope.check_key((9).to_bytes(32, "little"))


def test_the_info_says_what_the_box_is_for() -> None:
    assert canonical.parse(info(bytes(32), "client-07", bytes([1]) * 32, 5)) == {
        "label": "fgpr-v1/box",
        "plan": canonical.to_text(bytes(32)),
        "sender": "client-07",
        "sender_key": canonical.to_text(bytes([1]) * 32),
        "seat": 5,
    }
