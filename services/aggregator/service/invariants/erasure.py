"""Invariant 15: what a round's end erases is gone, and no private key stands in the database."""

import base64
from collections.abc import Iterable, Iterator, Mapping

from aggregator.service.invariants.evidence import Evidence
from aggregator.service.invariants.invariant import Violation
from aggregator.storage.remains import Place, as_bytes
from fgpr.secagg.stages import RUNNING

PEM = b"PRIVATE KEY-----"
HASH_BYTES = 32


def check_erased(found: Evidence) -> Iterator[Violation]:
    """15: rounds that ended keep no masked vector and no boxes; tickets are hashes; no value holds a private key."""
    for round_ in found.rounds.values():
        kept = [client for client, one in round_.contributions.items() if (one.masked, one.boxes) != (None, None)]
        if kept and round_.stage not in RUNNING:
            yield Violation(15, f"{round_} has ended and keeps what {', '.join(sorted(kept))} uploaded")
    for table, rows in found.rows.items():
        if any(len(row["secret_hash"]) != HASH_BYTES for row in rows if "secret_hash" in row):
            yield Violation(15, f"a row of {table} holds something else than a hash of its secret")
    spellings = _all_spellings(found.handed.secrets)
    for table, rows in found.rows.items():
        for column in rows[0] if rows else ():
            stored = b"\0".join(as_bytes(row[column]) for row in rows)
            for what in _met(stored, spellings):
                yield Violation(15, f"{table}.{column} holds {what}")


def check_remains(places: Iterable[Place], secrets: Mapping[str, bytes]) -> Iterator[Violation]:
    """15: nor does any place of the database, whether or not a table of this program has it."""
    spellings = _all_spellings(secrets)
    for place in places:
        if place.pieces is None:
            yield Violation(15, f"{place.name} cannot be searched: the database's user may not read it")
            continue
        met = {what for piece in place.pieces for what in _met(piece, spellings)}
        for what in sorted(met):
            yield Violation(15, f"{place.name} holds {what}")


def _all_spellings(secrets: Mapping[str, bytes]) -> dict[str, tuple[bytes, ...]]:
    return {what: _spellings(secret) for what, secret in secrets.items()} | {"a private key in PEM": (PEM,)}


def _met(stored: bytes, spellings: Mapping[str, tuple[bytes, ...]]) -> Iterator[str]:
    return (what for what, spelt in spellings.items() if any(one in stored for one in spelt))


def _spellings(secret: bytes) -> tuple[bytes, ...]:
    plain, url = base64.b64encode(secret), base64.urlsafe_b64encode(secret)
    return secret, secret.hex().encode(), plain.rstrip(b"="), url.rstrip(b"=")
