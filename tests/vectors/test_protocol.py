"""The protocol's vectors are what this code makes, and an implementation can check itself against them."""

import decimal
import hashlib
import json
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from fgpr import canonical, rotation
from fgpr.federated.publication import PriorRecord
from fgpr.message import Message
from fgpr.secagg import declared_weight, envelope, messages, roster, shamir
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.encoding import Codec
from fgpr.secagg.suites import private_half
from vectors import generate

STORED = generate.stored()
ENTRIES = ("roster", "plan", "contribution", "cohort", "cohort_view", "opening", "void_proof", "complaint", "prior")
MORE = ("hybrid", "weighted", "groups", "privacy", "rotation")


def entries(stem: str) -> list[dict[str, Any]]:
    return list(STORED[stem]["messages"] if stem in MORE else STORED[stem])


def signer(value: dict[str, Any], kind: str) -> bytes:
    """The private key whose signature a signed message has to carry."""
    keys = STORED["keys"]
    if kind in ("Plan", "Cohort", "PriorRecord"):
        return canonical.from_text(keys["service"])
    if kind == "Roster":
        return canonical.from_text(keys["roster"])
    return canonical.from_text(keys["identities"][value["message"]["client"]])


def test_all_of_it_comes_out_again_without_a_difference() -> None:
    made = generate.vectors(STORED["boxes"])
    assert made.keys() == STORED.keys()
    for stem, content in made.items():
        assert generate.text(content) == (generate.FOLDER / f"{stem}.json").read_text(encoding="utf-8"), stem


def test_without_the_kept_boxes_only_what_depends_on_them_differs() -> None:
    made = generate.vectors([])
    for stem in ("keys", "roster", "sum", "derivation"):
        assert made[stem] == STORED[stem]
    without_box = [{key: value for key, value in line.items() if key != "box"} for line in made["boxes"]]
    first_round = len(STORED["derivation"]) * 4
    assert without_box[:first_round] == [
        {key: value for key, value in line.items() if key != "box"} for line in STORED["boxes"][:first_round]
    ]
    assert not {line["box"] for line in made["boxes"]} & {line["box"] for line in STORED["boxes"]}


def test_every_box_opens_to_its_plaintext_with_the_key_that_is_given() -> None:
    halves = {
        public: half
        for stem in ("hybrid", "groups", "privacy")
        for public, half in STORED[stem]["keys"]["openings"].items()
    }
    halves |= STORED["keys"]["openings"]
    for line in STORED["boxes"]:
        key = private_half(canonical.from_text(halves[line["opening_key"]]))
        opened = envelope.open_box(canonical.from_text(line["box"]), key, line["info"].encode())
        assert canonical.to_text(opened) == line["plaintext"]
    assert {line["suite"] for line in STORED["boxes"]} == {"x25519", "mlkem768-x25519"}
    assert halves.keys() >= {line["opening_key"] for line in STORED["boxes"]}


@pytest.mark.parametrize("stem", [*ENTRIES, *MORE])
def test_digests_and_signatures_follow_from_the_json_alone(stem: str) -> None:
    # RFC 8785 for what JSON without floats is: sorted keys, no spaces. Nothing of the messages' code is used.
    for line in entries(stem):
        encoded = canonical.encode(line["value"])
        assert len(encoded) == line["bytes"]
        if "label" in line:
            assert hashlib.sha256(line["label"].encode() + b"\0" + encoded).hexdigest() == line["digest"]
    if stem in MORE:
        return
    labels = {line["type"]: line["label"] for line in entries(stem) if "label" in line}
    for line in entries(stem):
        if not line["type"].startswith("Signed["):
            continue
        kind = line["type"][len("Signed[") : -1]
        if kind in labels:
            signed = labels[kind].encode() + b"\0" + canonical.encode(line["value"]["message"])
            key = Ed25519PrivateKey.from_private_bytes(signer(line["value"], kind))
            assert canonical.to_text(key.sign(signed)) == line["value"]["signature"]


def test_each_contribution_follows_from_numbers_and_drawn_bytes() -> None:
    plan = next(line["value"] for line in STORED["plan"] if line["type"] == "Plan")
    sent = {line["value"]["header"]["message"]["client"]: line["value"] for line in STORED["contribution"][:5]}
    sealed = {
        (json.loads(line["info"])["sender"], json.loads(line["info"])["seat"]): line for line in STORED["boxes"][:20]
    }
    codec = Codec.from_json(plan["codec"])
    length = len(codec.names) + 1
    for line in STORED["derivation"]:
        encoded = codec.encode(np.array(line["values"]), line["observations"]).vector
        assert FIELD.to_text(encoded) == line["encoded"]
        words = np.frombuffer(canonical.from_text(line["drawn"]), dtype="<u8") & np.uint64(2**61 - 1)
        mask, coefficients = words[:length], words[length:].reshape(plan["threshold"] - 1, length)
        assert FIELD.to_text(mask) == line["mask"]
        assert FIELD.to_text(FIELD.add(encoded, mask)) == line["masked"] == sent[line["client"]]["masked"]
        for seat in range(1, 5):
            # The polynomials in Python's own integers.
            share = [
                (int(mask[place]) + sum(int(row[place]) * pow(seat, power) for power, row in _powers(coefficients)))
                % (2**61 - 1)
                for place in range(length)
            ]
            box = sealed[line["client"], seat]
            assert box["plaintext"] == FIELD.to_text(FIELD.array(share))
            assert box["box"] == sent[line["client"]]["boxes"][seat - 1]
        assert sent[line["client"]]["boxes"][4] == ""


def _powers(coefficients: np.ndarray) -> list[tuple[int, np.ndarray]]:
    return [(len(coefficients) - place, row) for place, row in enumerate(coefficients)]


def test_the_opened_sum_is_that_of_the_encoded_vectors() -> None:
    total = np.zeros(4, dtype=np.uint64)
    masked = np.zeros(4, dtype=np.uint64)
    for line in STORED["derivation"]:
        total = FIELD.add(total, FIELD.from_text(line["encoded"], 4))
        masked = FIELD.add(masked, FIELD.from_text(line["masked"], 4))
    assert STORED["sum"]["vector"] == FIELD.to_text(total)
    assert STORED["sum"]["total_weight"] == 7 + 192 + 65_535 + 1 + 1_000
    sums = [line["value"]["message"]["sum"] for line in STORED["opening"][:4]]
    shares = np.stack([FIELD.from_text(text, 4) for text in sums])
    assert np.array_equal(FIELD.sub(masked, shamir.interpolate(FIELD, [1, 2, 3, 4], shares, 4).values), total)
    averaged = [line["value"] for line in STORED["prior"] if line["type"] == "PriorRecord"][1]
    assert averaged["theta"] == STORED["sum"]["average"]


def test_weighted_draws_follow_from_hashes_and_weights_alone() -> None:
    value = next(line["value"] for line in STORED["weighted"]["messages"] if line["type"] == "Signed[Roster]")
    weights = {line["client"]: line["declared"]["message"]["weight"] for line in value["message"]["clients"]}
    for line in STORED["weighted"]["draws"]:
        with decimal.localcontext(decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)):
            ranks = {
                name: -(decimal.Decimal(2 * int(hashed, 16) + 1) / 2**257).ln() / weights[name]
                for name, hashed in line["hashes"].items()
            }
        assert {name: str(rank) for name, rank in ranks.items()} == line["ranks"]
        assert sorted(sorted(ranks, key=lambda name: (ranks[name], name))[:4]) == line["drawn"]
        body = {"nonce": value["message"]["nonce"], "theta_version": line["theta_version"] % 1024}
        for name, hashed in line["hashes"].items():
            hashed_bytes = b"fgpr-v1/invited\0" + canonical.encode(body | {"client": name})
            assert hashlib.sha256(hashed_bytes).hexdigest() == hashed
    assert STORED["weighted"]["draws"][0]["drawn"] == STORED["weighted"]["draws"][2]["drawn"]


def test_each_declaration_is_signed_by_the_identity_key_beside_it() -> None:
    value = next(line["value"] for line in STORED["weighted"]["messages"] if line["type"] == "Signed[Roster]")
    for line in value["message"]["clients"]:
        key = Ed25519PublicKey.from_public_bytes(canonical.from_text(line["identity_key"]))
        signed = b"fgpr-v1/declared-weight\0" + canonical.encode(line["declared"]["message"])
        key.verify(canonical.from_text(line["declared"]["signature"]), signed)


def test_each_change_of_a_key_is_signed_by_the_old_one_and_the_new_one() -> None:
    changes = [line["value"] for line in STORED["rotation"]["messages"] if line["type"] == "SignedKeyChange"]
    assert [line["change"]["holder"] for line in changes] == ["client-00", "bench-1", "olga"]
    for value, keys in zip(changes, STORED["rotation"]["keys"], strict=True):
        signed = b"fgpr-v1/key-change\0" + canonical.encode(value["change"])
        for which in ("old", "new"):
            key = Ed25519PrivateKey.from_private_bytes(canonical.from_text(keys[which]))
            assert canonical.to_text(key.public_key().public_bytes_raw()) == value["change"][f"{which}_key"]
            assert canonical.to_text(key.sign(signed)) == value[f"by_{which}"]
    # What comes along is signed by the new key.
    request = next(line["value"] for line in STORED["rotation"]["messages"] if line["type"] == "RotationRequest")
    key = Ed25519PublicKey.from_public_bytes(canonical.from_text(changes[0]["change"]["new_key"]))
    for field, label in (("opening_key", "opening-key"), ("declared", "declared-weight")):
        signed = f"fgpr-v1/{label}".encode() + b"\0" + canonical.encode(request[field]["message"])
        key.verify(canonical.from_text(request[field]["signature"]), signed)


def test_the_groups_are_dealt_opened_and_combined_by_what_is_written_down() -> None:
    told = STORED["groups"]
    plan = next(line["value"] for line in told["messages"] if line["type"] == "Plan")

    def rank(name: str) -> bytes:
        text = json.dumps(
            {"client": name, "nonce": told["roster_nonce"], "theta_version": 0}, separators=(",", ":"), sort_keys=True
        )
        return hashlib.sha256(b"fgpr-v1/group\0" + text.encode()).digest()

    ordered = sorted(plan["invited"], key=rank)
    assert told["parts"] == [sorted(ordered[number::3]) for number in range(3)]
    assert plan["dealt"] == [1 + ordered.index(name) % 3 for name in plan["invited"]]
    answers = [line["value"]["message"] for line in told["messages"] if line["type"] == "Signed[Opening]"]
    seats = [seat["client"] for seat in plan["seats"]]
    points = [1 + seats.index(answer["client"]) for answer in answers]
    shares = np.stack([FIELD.from_text(answer["sum"], 12) for answer in answers])
    averages = []
    for number, part in enumerate(told["parts"]):
        masks = shamir.interpolate(FIELD, points, shares[:, 4 * number : 4 * number + 4].copy(), plan["threshold"])
        total = np.zeros(4, dtype=np.uint64)
        for client in part:
            total = FIELD.add(total, FIELD.from_text(told["masked"][client], 4))
        opened = FIELD.sub(total, masks.values)
        assert np.array_equal(opened, FIELD.from_text(told["sums"], 12)[4 * number : 4 * number + 4])
        # Uploads in order of their clients weigh 1 to 9 and are 1/16 of the one before further on.
        places = [plan["invited"].index(client) for client in part]
        assert int(opened[3]) == sum(1 + place for place in places)
        averages.append(sum((1 + place) * place for place in places) / int(opened[3]) / 16)
    record = told["messages"][-1]["value"]
    assert record["theta"] == told["average"]
    start = STORED["prior"][-3]["value"]["theta"]
    expected = np.array(start) + np.array([0.125, -0.25, 0.0]) + np.median(averages)
    np.testing.assert_allclose(record["theta"], expected, atol=1e-7)


def test_every_message_of_the_protocol_has_its_vector() -> None:
    known = {
        value.__name__
        for module in (messages, roster, declared_weight, rotation)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Message) and value.__module__ == module.__name__
    }
    there = {line["type"] for stem in (*ENTRIES, "weighted", "rotation") for line in entries(stem)}
    assert there >= known | {PriorRecord.__name__}
