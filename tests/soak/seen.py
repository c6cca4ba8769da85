"""What one process of the aggregator takes of its machine, and its database of the disk."""

from dataclasses import dataclass, fields
from pathlib import Path

import httpx
import psycopg
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import make_url

from kills.copies import path_of
from load.processes import Replica

KB = 1024


@dataclass(frozen=True)
class Seen:
    """After one round.

    Attributes:
        memory: resident, KB.
        files: open ones, sockets included.
        threads: of the process.
        connections: of clients, as it counts them itself.
        database_connections: of PostgreSQL; 0 on SQLite.
        database: its size, KB, write-ahead log of SQLite included.
    """

    memory: float
    files: float
    threads: float
    connections: float
    database_connections: float
    database: float


NAMES = tuple(field.name for field in fields(Seen))


def look(replica: Replica, url: str) -> Seen:
    """Look at it now."""
    process = Path(f"/proc/{replica.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    sessions, size = _postgresql(url) if not url.startswith("sqlite") else (0.0, _sqlite(url))
    return Seen(
        memory=float(status["VmRSS"].split()[0]),
        files=float(len(list((process / "fd").iterdir()))),
        threads=float(status["Threads"]),
        connections=_connections(replica.port),
        database_connections=sessions,
        database=size,
    )


def _connections(port: int) -> float:
    text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    # This very question has one of its own.
    return next(sample.value for sample in samples if sample.name == "fgpr_connections") - 1


def _sqlite(url: str) -> float:
    path = path_of(url)
    parts = (path, path.with_name(f"{path.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists()) / KB


def _postgresql(url: str) -> tuple[float, float]:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
            " pg_database_size(current_database())"
        ).fetchone()
    assert row is not None
    return float(row[0] - 1), row[1] / KB
