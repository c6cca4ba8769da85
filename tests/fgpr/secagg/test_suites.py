"""The hybrid suite: its sizes, its keys, and that a plan, its keys and its boxes agree on one suite."""

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr.errors import CryptographicError, EncodingError, PlanRefused, RemoteProtocolError
from fgpr.secagg import envelope
from fgpr.secagg.history import Floors
from fgpr.secagg.messages import OpeningKey
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.suites import ORDER, SUITES, HybridPrivateKey, SuiteName, private_half, suite_of
from support import plan_case
from support.federation import Federation
from support.malice import with_box

HYBRID: SuiteName = "mlkem768-x25519"
RULES = AggregationRules(suite=HYBRID)
BYTES = random.Random(5).randbytes(96)


# FIPS 203: an encapsulation key of ML-KEM-768 has 1,184 bytes, a ciphertext 1,088. RFC 7748: 32 bytes each.
@pytest.mark.parametrize(
    ("name", "public", "private", "overhead"), [("x25519", 32, 32, 48), (HYBRID, 1216, 96, 1088 + 32 + 16)]
)
def test_sizes(name: SuiteName, public: int, private: int, overhead: int) -> None:
    suite, half = SUITES[name], private_half(BYTES[:private])
    assert (suite.public_bytes, suite.private_bytes, suite.overhead) == (public, private, overhead)
    assert (half.private_bytes_raw(), suite_of(half)) == (BYTES[:private], name)
    key = half.public_key().public_bytes_raw()
    assert len(key) == public
    box = envelope.seal(b"share", key, b"info", name)
    assert len(box) == 5 + overhead
    assert envelope.open_box(box, half, b"info") == b"share"
    for info, holder in ((b"other", half), (b"info", private_half(bytes(private)))):
        with pytest.raises(CryptographicError, match="does not open"):
            envelope.open_box(box, holder, info)
    with pytest.raises(CryptographicError, match="does not open"):
        envelope.open_box(bytes([box[0] ^ 1]) + box[1:], half, b"info")


def test_a_hybrid_key_is_that_of_ml_kem_and_then_that_of_x25519() -> None:
    public = private_half(BYTES).public_key().public_bytes_raw()
    assert public[:1184] == MLKEM768PrivateKey.from_seed_bytes(BYTES[:64]).public_key().public_bytes_raw()
    assert public[1184:] == X25519PrivateKey.from_private_bytes(BYTES[64:]).public_key().public_bytes_raw()
    assert BYTES.hex() not in repr(private_half(BYTES))


def test_either_half_alone_does_not_open() -> None:
    half = private_half(BYTES)
    box = envelope.seal(b"share", half.public_key().public_bytes_raw(), b"", HYBRID)
    for other in (bytes(64) + BYTES[64:], BYTES[:64] + bytes(32)):
        with pytest.raises(CryptographicError):
            envelope.open_box(box, private_half(other), b"")


def test_keys_of_another_length_or_low_order_are_refused() -> None:
    for length in (0, 31, 64, 95, 97):
        with pytest.raises(CryptographicError, match="no suite"):
            private_half(bytes(length))
    with pytest.raises(ValueError, match="96 bytes"):
        HybridPrivateKey.from_private_bytes(bytes(95))
    good = private_half(BYTES).public_key().public_bytes_raw()
    envelope.check_key(good, HYBRID)
    # The point zero in the second half; coefficients beyond the modulus 3,329 in the first; short; long.
    for bad in (good[:1184] + bytes(32), b"\xff" * 1184 + good[1184:], good[:-1], good + b"\0"):
        with pytest.raises(CryptographicError):
            envelope.check_key(bad, HYBRID)
    with pytest.raises(CryptographicError):
        envelope.seal(b"", good[:-1], b"", HYBRID)


def test_an_opening_key_has_its_suite_s_length() -> None:
    fields: dict[str, Any] = {"federation": "f", "client": "c", "serial": 1}
    for suite in ORDER:
        length = SUITES[suite].public_bytes
        assert OpeningKey(**fields, suite=suite, key=bytes(length)).suite == suite
        for other in (length - 1, length + 1, 0):
            with pytest.raises(ValueError, match=f"{other} bytes"):
                OpeningKey(**fields, suite=suite, key=bytes(other))
    with pytest.raises(EncodingError, match="suite"):
        OpeningKey.from_json(OpeningKey(**fields, suite="x25519", key=bytes(32)).to_json() | {"suite": "rot13"})


def test_two_rounds_under_the_hybrid_suite() -> None:
    made = Federation(4, RULES)
    for version in (1, 2):
        record = made.run({name: (np.array([0.5, -0.5, 1.0]), 3) for name in made.names})
        assert record is not None
        assert record.version == version
        np.testing.assert_allclose(record.theta, [0.5, -0.5, 1.0], atol=1e-8)
    assert made.now.plan.message.suite == HYBRID


def test_a_box_of_the_other_suite_s_length_is_not_taken() -> None:
    made = Federation(4, RULES)
    made.plan()
    sent = made.contribute("client-00", np.zeros(3)).contribution
    assert {len(box) for box in sent.boxes} == {4 * 8 + 1136}
    with pytest.raises(RemoteProtocolError, match="has 80 bytes, not 1168"):
        made.receive(with_box(sent, 2, bytes(80), made.clients["client-00"].identity_key))


def test_a_plan_weaker_than_the_floor_is_refused() -> None:
    weak, strong = plan_case.case(), plan_case.case(rules=RULES)
    weak.floors = Floors(suite=HYBRID)
    with pytest.raises(PlanRefused, match="weaker") as refused:
        weak.check()
    assert refused.value.check == 9
    for floor in ORDER:
        strong.floors = Floors(suite=floor)
        strong.check()


def test_a_key_of_another_suite_than_the_plan_s_is_refused() -> None:
    made = plan_case.case()
    other = dataclasses.replace(made.federation.clients["client-02"], suite=HYBRID, opening_keys={})
    made.change(seats=made.with_key(3, other.new_key()))
    with pytest.raises(PlanRefused, match="of suite mlkem768-x25519, not x25519") as refused:
        made.check()
    assert refused.value.check == 12


def test_a_next_key_of_another_suite_is_not_taken() -> None:
    made = Federation(4)
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    cohort = made.close()
    assert cohort is not None
    made.clients["client-01"].suite = HYBRID
    with pytest.raises(RemoteProtocolError, match="the next key is of suite mlkem768-x25519"):
        made.open("client-01")


def test_the_default_is_x25519() -> None:
    assert (AggregationRules().suite, Floors().suite, ORDER[0]) == ("x25519", "x25519", "x25519")
