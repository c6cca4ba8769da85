"""Nothing secret stands in the database or its write-ahead log, in any spelling."""

import base64
import secrets
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fgpr import private_keys
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Contribution
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served
from support.client import ContributionWritten
from support.party import Party


def spellings(secret: bytes) -> Iterable[bytes]:
    """The secret as it is, in hex, and in base64 however its bytes fall into threes."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    for lead in range(3):
        whole = base64.b64encode(bytes(lead) + secret)
        # Characters that only its own bytes decide.
        yield whole[4 if lead else 0 : len(whole) - 4]
        yield base64.urlsafe_b64encode(bytes(lead) + secret)[4 if lead else 0 : len(whole) - 4]


def hits(files: bytes, known: dict[str, bytes]) -> list[str]:
    return [name for name, secret in known.items() if any(one in files for one in spellings(secret))]


def masks(party: Party) -> list[bytes]:
    """The masks of its contributions: what was sent less what was encoded."""
    bodies = [one.body for one in party.client.journal if isinstance(one, ContributionWritten)]
    return [
        FIELD.to_bytes(FIELD.sub(FIELD.from_bytes(Contribution.decode(body).masked, 4), encoded))
        for body, encoded in zip(bodies, party.encoded, strict=True)
    ]


def secrets_of(party: Party) -> dict[str, bytes]:
    known = {
        "ticket": party.ticket.secret,
        "identity": party.client.identity_key.private_bytes_raw(),
        "identity as PEM": private_keys.to_pem(party.client.identity_key),
    }
    known |= {f"opening key {serial}": key.private_bytes_raw() for serial, key in party.client.opening_keys.items()}
    known |= {f"mask {place}": mask for place, mask in enumerate(masks(party))}
    for place, encoded in enumerate(party.encoded):
        known[f"update {place}"] = encoded.astype("<u8").tobytes()
        known |= {f"word {place}.{at}": struct.pack("<Q", word) for at, word in enumerate(encoded[:-1].tolist())}
    return {f"{party.name}: {name}": secret for name, secret in known.items()}


def test_a_whole_run_leaves_no_secret(tmp_path: Path) -> None:
    drawn: list[bytes] = []

    def random_bytes(count: int) -> bytes:
        drawn.append(secrets.token_bytes(count))
        return drawn[-1]

    with served(tmp_path, random_bytes=random_bytes, keeps_deadlines=False) as aggregator:
        parties = aggregator.enrol(4)
        # A ticket that nobody takes up, and one of a reader.
        unused = aggregator.invite("nobody")
        aggregator.party("reader", "reader").enrol()
        aggregator.advance()
        rng = np.random.default_rng(3)
        thetas = [aggregator.prior().vector() + rng.uniform(-1, 1, 3) for _ in parties]
        for party, theta in zip(parties, thetas, strict=True):
            party.contribute(theta, 1000 + int(rng.integers(1000)))
        while_open = aggregator.files()
        for party in parties:
            party.open()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        for party in parties[:3]:
            party.contribute()
        aggregator.pass_contributing()
        aggregator.pass_opening()
        assert aggregator.round(2).stage is Stage.ABORTED

        aggregator.look()
        known = {"unused ticket": unused.secret}
        for party in parties:
            known |= secrets_of(party)
        for place, theta in enumerate(thetas):
            known[f"theta {place}"] = theta.astype("<f8").tobytes()
            known |= {f"theta {place}.{at}": struct.pack("<d", value) for at, value in enumerate(theta.tolist())}
            known |= {f"theta {place}.{at} as text": repr(value).encode() for at, value in enumerate(theta.tolist())}
        keys = aggregator.context.keys
        for name, key in (("service", keys.service()), ("roster", keys.roster(aggregator.federation.name))):
            known[name] = key.private_bytes_raw()
            known[f"{name} as PEM"] = private_keys.to_pem(key)
        assert len(known) > 80
        assert hits(while_open, known) == []
        assert hits(aggregator.files(), known) == []
        # Of all that was drawn only the roster's nonce is public.
        files = aggregator.files()
        nonce = parties[0].roster(1).message.nonce
        assert nonce in drawn
        found = [draw for draw in drawn if len(draw) >= 8 and any(one in files for one in spellings(draw))]
        assert found == [nonce]


def test_the_search_finds_what_is_there(aggregator: Aggregator) -> None:
    # Public values in each of the ways in which a secret could stand there.
    (party,) = aggregator.enrol(1)
    files = aggregator.files()
    public = party.first_key.message.key
    assert hits(files, {"key": public, "identity": party.client.public_key()}) == ["key", "identity"]
    for lead in range(3):
        text = b"x" + base64.b64encode(b"abc"[:lead] + public + b"de")
        assert hits(text, {"key": public}) == ["key"]
    assert hits(public.hex().encode(), {"key": public}) == ["key"]
