"""Invariant 15: what a round's end erases is gone, and no private key stands in the database."""

import base64
from collections.abc import Iterator

from aggregator.service.invariants.evidence import Evidence
from aggregator.service.invariants.invariant import Violation
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
    spellings = {what: _spellings(secret) for what, secret in found.handed.secrets.items()}
    for table, rows in found.rows.items():
        for column in rows[0] if rows else ():
            stored = b"\0".join(_bytes(row[column]) for row in rows)
            for what in (what for what, spelt in spellings.items() if any(one in stored for one in spelt)):
                yield Violation(15, f"{table}.{column} holds {what}")
            if PEM in stored:
                yield Violation(15, f"{table}.{column} holds a private key in PEM")


def _spellings(secret: bytes) -> tuple[bytes, ...]:
    plain, url = base64.b64encode(secret), base64.urlsafe_b64encode(secret)
    return secret, secret.hex().encode(), plain.rstrip(b"="), url.rstrip(b"=")


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
