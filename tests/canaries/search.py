"""Secrets of a party, and where they stand: as they are, in hex and in base64."""

import base64
import struct
from collections.abc import Iterable

import numpy as np

from fgpr import private_keys
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.messages import Contribution
from support.client import ContributionWritten
from support.party import Party

PREFIX = 8
CHUNK = 2**22


def spellings(secret: bytes) -> Iterable[bytes]:
    """The secret as it is, in hex, and in base64 however its bytes fall into threes."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    for lead in range(3):
        # All characters that only its own bytes decide: a spelling of fewer would be met by chance.
        own = slice(-(-lead * 8 // 6), (lead + len(secret)) * 8 // 6)
        yield base64.b64encode(bytes(lead) + secret)[own]
        yield base64.urlsafe_b64encode(bytes(lead) + secret)[own]


def hits(files: bytes, known: dict[str, bytes]) -> list[str]:
    return [name for name, secret in known.items() if any(one in files for one in spellings(secret))]


def masks(party: Party) -> list[bytes]:
    """The masks of its contributions: what was sent less what was encoded."""
    bodies = [one.body for one in party.client.journal if isinstance(one, ContributionWritten)]
    return [
        FIELD.to_bytes(FIELD.sub(FIELD.from_bytes(Contribution.decode(body).masked, 4), encoded))
        for body, encoded in zip(bodies, party.encoded, strict=True)
    ]


def scan(content: bytes, known: dict[str, bytes]) -> list[str]:
    """As `hits`, for many megabytes and thousands of secrets, of 8 bytes or more each."""
    patterns: dict[bytes, list[tuple[str, bytes]]] = {}
    for name, secret in known.items():
        for one in spellings(secret):
            patterns.setdefault(one[:PREFIX], []).append((name, one))
    keys = np.sort(np.frombuffer(b"".join(patterns), dtype="<u8"))
    found: set[str] = set()
    for start in range(0, len(content), CHUNK):
        # A pattern that begins in this chunk may end in the next.
        part = content[start : start + CHUNK + PREFIX - 1]
        for shift in range(PREFIX):
            words = np.frombuffer(part, dtype="<u8", count=max(0, (len(part) - shift) // PREFIX), offset=shift)
            places = np.searchsorted(keys, words)
            (matches,) = np.nonzero(keys[np.minimum(places, len(keys) - 1)] == words)
            for match in matches.tolist():
                at = start + shift + PREFIX * match
                for name, one in patterns[content[at : at + PREFIX]]:
                    if content[at : at + len(one)] == one:
                        found.add(name)
    return sorted(found)


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
