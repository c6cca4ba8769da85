"""Nothing secret stands in the database or its write-ahead log, in any spelling."""

import base64
import random
import secrets
import struct
from pathlib import Path

import numpy as np

from canaries.regression import held_out_r2, standardised
from canaries.search import CHUNK, hits, scan, secrets_of, spellings
from fgpr import private_keys
from fgpr.secagg.contributor import FIELD, contribute
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served
from support.federation import Federation


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


def test_no_spelling_is_short_enough_to_be_met_by_chance() -> None:
    # RFC 4648 section 4: a character is six bits, so of 64 bits ten whole characters are their own.
    drawn = random.Random(5)
    for secret in (drawn.randbytes(8) for _ in range(200)):
        assert min(len(one) for one in spellings(secret)) == 8
        for lead in range(3):
            before, after = drawn.randbytes(lead), drawn.randbytes(4)
            text = base64.b64encode(before + secret + after)
            assert any(len(one) == 10 and one in text for one in spellings(secret))


def test_the_quick_search_finds_what_the_plain_one_finds() -> None:
    draw = random.Random(4)
    known = {f"secret {number}": draw.randbytes(draw.choice([8, 16, 32, 119])) for number in range(60)}
    noise = [draw.randbytes(draw.randrange(2000)) for _ in range(2000)]
    planted = list(known)[:30]
    for name in planted:
        noise.insert(draw.randrange(len(noise)), draw.choice(list(spellings(known[name]))))
    content = b"".join(noise)
    assert len(content) > 1_500_000
    assert scan(content, known) == sorted(planted)
    assert scan(content[:7], known) == []
    # Over the border of two chunks, from each place in the last eight bytes of the first.
    for back in range(9):
        secret = known["secret 40"]
        text = bytes(CHUNK - back) + secret + bytes(50)
        assert scan(text, {"secret 40": secret}) == ["secret 40"]


def test_what_is_stored_of_a_contribution_tells_nothing_of_its_update() -> None:
    """Held-out R^2 of the update, by regression on every byte that is stored; without the mask it is 1."""
    federation, rng = Federation(4), np.random.default_rng(11)
    federation.plan()
    checked = federation.check("client-01")
    client, draw = federation.clients["client-01"], random.Random(12)
    updates, stored, bare = [], [], []
    for _ in range(400):
        values = rng.uniform(-2, 2, 3)
        made = contribute(checked, client.name, client.identity_key, values, 10, draw.randbytes).contribution
        seen = made.masked + made.header.signature + made.header.message.boxes
        seen += b"".join(box[:8] + box[-8:] for box in made.boxes)
        updates.append(values)
        stored.append(standardised(seen))
        bare.append(standardised(FIELD.to_bytes(checked.codec.encode(values, 10).vector)))
    assert held_out_r2(np.array(bare), np.array(updates)) > 0.99
    assert held_out_r2(np.array(stored), np.array(updates)) < 0.02
