"""`make canary`: whole rounds before a real process; then every secret is looked for in everything that it wrote.

Looked through are the database's files with their write-ahead log, a dump of every row, a backup, the process's log and
its answers; each secret as it is, in hex and in base64. And each update is regressed on what was stored of its
contribution. Exit status 1 where anything is found.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url, select

from aggregator.storage import copying
from aggregator.storage import migrate as schema
from aggregator.storage.engine import Database
from aggregator.storage.tables import contributions, metadata
from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from canaries.regression import held_out_r2, standardised
from canaries.search import scan, secrets_of
from fgpr import private_keys
from fgpr.secagg.stages import Stage
from support import postgres
from support.client import NAME
from support.databases import migrated_sqlite
from support.process_site import ProcessSite, process_site

CLIENTS, ROUNDS = 10, 40
MOST_R2 = 0.05
WIDTH = 120


@dataclass(frozen=True)
class Found:
    """What came of it on one database.

    Attributes:
        secrets: how many were looked for.
        looked: bytes that were looked through, by place.
        hits: secrets that were found, by place.
        marks: how often something stands in each place that is no secret and has to be there: or it is another place.
        r2: held-out R^2 of the updates on what was stored.
        rows: contributions in that regression.
        r2_bare: the same where nothing is masked: what the regression finds where there is something.
    """

    secrets: int
    looked: dict[str, int]
    hits: dict[str, list[str]]
    marks: dict[str, int]
    r2: float
    rows: int
    r2_bare: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, look, print, write the report; 1 where anything is found."""
    parser = argparse.ArgumentParser(prog="make canary", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORTS / "canary.json", help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    table = Table("database", "place", title="Secrets in what the aggregator wrote")
    for column in ("MB", "secrets looked for", "found"):
        table.add_column(column, justify="right")
    lines: list[Line] = []
    for database in ("sqlite", "postgresql"):
        with _database(database) as (folder, url):
            found = _look(folder, url, options.rounds)
        for place, size in found.looked.items():
            table.add_row(database, place, f"{size / 1e6:.1f}", str(found.secrets), str(len(found.hits[place])))
            lines.append(at_most(f"{database}: canary hits in {place}", len(found.hits[place]), "hits", 0))
            lines.append(at_least(f"{database}: what is no secret, found in {place}", found.marks[place], "marks", 1))
        r2 = f"{found.r2:.3f} of {found.rows} contributions; {found.r2_bare:.3f} without masks"
        table.add_row(database, "R^2 of the updates, held out", "", "", r2)
        lines += [
            Line(f"{database}: secrets looked for", found.secrets, "secrets"),
            Line(f"{database}: contributions regressed on", found.rows, "contributions"),
            at_most(f"{database}: R^2 of updates on what is stored", found.r2, "R^2", MOST_R2),
            at_least(f"{database}: R^2 where nothing is masked", found.r2_bare, "R^2", 0.99),
        ]
    console.print(table)
    return conclude(console, lines, options.report)


@contextmanager
def _database(name: str) -> Iterator[tuple[Path, str]]:
    with tempfile.TemporaryDirectory() as folder:
        if name == "sqlite":
            yield Path(folder), migrated_sqlite(Path(folder) / "fgpr.db")
            return
        with postgres.running(durable=True) as server, server.database() as url:
            yield Path(folder), url


def _look(folder: Path, url: str, rounds: int) -> Found:
    rng = np.random.default_rng(5)
    updates: list[np.ndarray] = []
    stored: list[np.ndarray] = []
    bare: list[np.ndarray] = []
    known: dict[str, bytes] = {}
    with process_site(folder, url, CLIENTS) as site:
        for number in range(1, rounds + 1):
            site.wait_for(number, Stage.CONTRIBUTING)
            sent = {party.name: rng.uniform(-2, 2, 3) for party in site.parties[:-1]}
            for party in site.parties[:-1]:
                party.contribute(sent[party.name])
            # Before the last one closes the round: what is stored of the others.
            seen = _stored(site, number)
            for party in site.parties[:-1]:
                updates.append(sent[party.name])
                stored.append(standardised(seen[party.name]))
                bare.append(standardised(party.encoded[-1].astype("<u8").tobytes()))
            site.parties[-1].contribute()
            site.wait_for(number, Stage.OPENING)
            for party in site.parties:
                if site.stage(number) is Stage.OPENING:
                    party.open()
            site.wait_for(number, Stage.PUBLISHED)
        for party in site.parties:
            known |= secrets_of(party)
        for place, theta in enumerate(updates):
            known[f"update {place} as floats"] = theta.astype("<f8").tobytes()
            known |= {f"update {place}.{at} as text": repr(value).encode() for at, value in enumerate(theta.tolist())}
        for name, key in (("service", site.context.keys.service()), ("roster", site.context.keys.roster("engines"))):
            known |= {name: key.private_bytes_raw(), f"{name} as PEM": private_keys.to_pem(key)}
        answers = b"\0".join(content for party in site.parties for _, content in party.transport.answers)
        places = {"answers": answers} | _written(site, folder, url)
    half = np.array(updates)
    return Found(
        secrets=len(known),
        looked={place: len(content) for place, content in places.items()},
        hits={place: scan(content, known) for place, content in places.items()},
        marks={
            place: content.count(b'"route"' if place == "log of the process" else NAME.encode())
            for place, content in places.items()
        },
        r2=held_out_r2(np.array(stored), half),
        rows=len(updates),
        r2_bare=held_out_r2(np.array(bare), half),
    )


def _stored(site: ProcessSite, number: int) -> dict[str, bytes]:
    """Of each contribution to a round: the masked vector whole, and of everything else as much as tells it apart."""
    table = contributions
    with site.context.database.read() as connection:
        rows = connection.execute(select(table).where(table.c.round == number)).all()
    return {row.client: row.masked + row.body_digest[:8] + row.header[-40:-24] + row.boxes[3:11] for row in rows}


def _written(site: ProcessSite, folder: Path, url: str) -> dict[str, bytes]:
    with site.context.database.read() as connection:
        values = [
            value if isinstance(value, bytes) else str(value).encode()
            for table in metadata.sorted_tables
            for row in connection.execute(select(table))
            for value in row
        ]
    backup = Database(f"sqlite:///{folder / 'backup'}")
    schema.upgrade(backup)
    copying.copy(site.context.database, backup)
    backup.close()
    parts = make_url(url)
    files = Path(str(parts.query["host"])) if parts.query else Path(str(parts.database)).parent
    chosen = [path for path in files.rglob("*") if path.is_file() and "keys" not in path.parts]
    return {
        "rows": b"\0".join(values),
        "backup": (folder / "backup").read_bytes(),
        "log of the process": site.replicas[0].log.read_bytes(),
        "files of the database": b"".join(path.read_bytes() for path in chosen if not path.name.startswith("backup")),
    }


if __name__ == "__main__":
    sys.exit(main())
