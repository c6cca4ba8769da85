"""Cosignatures of other implementations verify, and ours are what the specification says."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import signatures
from fgpr.auditlog import checkpoint, cosignature, note
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.errors import CryptographicError, EncodingError, VerificationError

REAL: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "cosigned_checkpoint.json").read_text("utf-8")
)
"""A checkpoint of a Certificate Transparency log with four public witnesses, of three other implementations."""

LOG, WITNESSES = REAL["log"], REAL["witnesses"]
TIME = 1779573024
KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2, 3)]
SEEN = Checkpoint("fgpr.example/log", 5, bytes(range(32)))


def key_of(line: dict[str, Any]) -> bytes:
    return base64.b64decode(line["type_and_key"])[1:]


def real_note() -> str:
    lines = [(LOG["name"], LOG["signature"]), *REAL["other_lines"].items()]
    lines += [(one["name"], one["cosignature"]) for one in WITNESSES]
    return REAL["text"] + "\n" + "".join(f"\u2014 {name} {text}\n" for name, text in lines)


def test_a_real_checkpoint_opens_with_all_its_witnesses() -> None:
    keys = {one["name"]: key_of(one) for one in WITNESSES}
    seen, names = cosignature.witnesses(real_note(), LOG["name"], key_of(LOG), keys)
    assert seen == Checkpoint(LOG["name"], 1432088532, base64.b64decode(REAL["text"].split("\n")[2]))
    assert names == set(keys)


@pytest.mark.parametrize("line", WITNESSES, ids=lambda line: line["name"])
def test_each_real_cosignature(line: dict[str, Any]) -> None:
    raw = base64.b64decode(line["cosignature"])
    assert base64.b64decode(line["type_and_key"])[:1] == note.COSIGNATURE
    assert raw[:4] == note.key_hash(line["name"], key_of(line), note.COSIGNATURE)
    assert int.from_bytes(raw[4:12], "big") == TIME
    seen = Checkpoint.from_text(REAL["text"])
    cosignature.verify(seen, key_of(line), raw[4:])
    for bit in range(8 * 72):
        forged = (int.from_bytes(raw[4:], "big") ^ (1 << bit)).to_bytes(72, "big")
        with pytest.raises(VerificationError):
            cosignature.verify(seen, key_of(line), forged)


def test_what_is_signed() -> None:
    made = cosignature.cosign(SEEN, KEYS[0], TIME)
    message = b"cosignature/v1\ntime 1779573024\n" + SEEN.to_text().encode()
    assert made == TIME.to_bytes(8, "big") + KEYS[0].sign(message)
    cosignature.verify(SEEN, signatures.public_bytes(KEYS[0]), made)


@pytest.mark.parametrize(
    ("seen", "key"),
    [
        (Checkpoint("fgpr.example/fork", 5, SEEN.root), KEYS[0]),
        (Checkpoint(SEEN.origin, 6, SEEN.root), KEYS[0]),
        (Checkpoint(SEEN.origin, 5, bytes(32)), KEYS[0]),
        (SEEN, KEYS[1]),
    ],
)
def test_of_another_checkpoint_or_key_it_does_not_hold(seen: Checkpoint, key: Ed25519PrivateKey) -> None:
    made = cosignature.cosign(SEEN, KEYS[0], TIME)
    with pytest.raises(VerificationError, match=f"cosignature of the checkpoint of {seen.size} leaves does not hold"):
        cosignature.verify(seen, signatures.public_bytes(key), made)


@pytest.mark.parametrize("cut", [slice(0, 71), slice(0, 0), slice(0, 8)])
def test_of_another_length_it_does_not_hold(cut: slice) -> None:
    made = cosignature.cosign(SEEN, KEYS[0], TIME)
    for forged in (made[cut], made + b"\0"):
        with pytest.raises(VerificationError):
            cosignature.verify(SEEN, signatures.public_bytes(KEYS[0]), forged)
    with pytest.raises(CryptographicError):
        cosignature.verify(SEEN, bytes(31), made)


@pytest.mark.parametrize("seconds", [0, -1, 2**63])
def test_times_that_the_format_does_not_take(seconds: int) -> None:
    with pytest.raises(EncodingError, match="no time of a cosignature"):
        cosignature.cosign(SEEN, KEYS[0], seconds)
    assert cosignature.cosign(SEEN, KEYS[0], 2**63 - 1)


def members(*numbers: int) -> dict[str, tuple[bytes, bytes]]:
    return {
        cosignature.name_of("engines", f"client-0{number}"): (
            signatures.public_bytes(KEYS[number]),
            cosignature.cosign(SEEN, KEYS[number], TIME),
        )
        for number in numbers
    }


def test_the_note_of_a_log_and_its_members() -> None:
    name, log = SEEN.origin, Ed25519PrivateKey.from_private_bytes(bytes(32))
    signed = cosignature.with_cosignatures(checkpoint.sign(SEEN, name, log), members(0, 1))
    public = signatures.public_bytes(log)
    # Whoever knows nothing of witnesses reads it as before.
    assert checkpoint.open_note(signed, name, public) == SEEN
    assert "\u2014 fgpr-member/engines/client-00 " in signed
    keys = {member: key for member, (key, _) in members(0, 2).items()}
    assert cosignature.witnesses(signed, name, public, keys) == (SEEN, {"fgpr-member/engines/client-00"})
    # A key of another type, or another key under the name, is another witness.
    swapped = {"fgpr-member/engines/client-00": signatures.public_bytes(KEYS[1])}
    assert cosignature.witnesses(signed, name, public, swapped) == (SEEN, frozenset())


def test_a_bad_line_of_a_known_witness_spoils_the_note() -> None:
    name, log = SEEN.origin, Ed25519PrivateKey.from_private_bytes(bytes(32))
    ((member, (key, good)),) = members(0).items()
    lines = {member: (key, good[:-1] + bytes([good[-1] ^ 1]))}
    signed = cosignature.with_cosignatures(checkpoint.sign(SEEN, name, log), lines)
    with pytest.raises(VerificationError, match="does not hold"):
        cosignature.witnesses(signed, name, signatures.public_bytes(log), {member: key})
    with pytest.raises(EncodingError, match="no key name"):
        cosignature.with_cosignatures(signed, {"two words": (key, good)})
