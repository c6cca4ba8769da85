"""The scenes of `make load`: rounds on either database, slow sockets beside them, and replicas that are killed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import make_url

from load.balancer import balanced
from load.killer import EVERY_SECONDS, Kills, killing
from load.measured import Measured, Site, measure, site
from load.processes import replicas
from load.slow import slow_sockets
from support import postgres
from support.databases import migrated_sqlite
from support.postgres import Postgres

DATABASES = ("sqlite", "postgresql")
KILLED_CLIENTS = 60
KILLED_ROUNDS = 3
KILLED_REPLICAS = 3
KILLED_ARRIVALS = 20.0
"""Seconds over which the clients of such a round come, so that each round is hit twice or more."""


BURST_SECONDS = 0.25
STEADY_RATE = 20.0
"""Clients a second. The targets have 60 of them served whole in 2 s, which is 30 a second. At a rate that a server
cannot keep up with, the queue grows for as long as the measurement lasts, and a latency says no more than that."""


class Pace(StrEnum):
    """How clients come.

    BURST: all within a quarter of a second, as agents do that wait for a plan and have little to learn. The round takes
    as long as the aggregator does.
    STEADY: 20 a second, as those whose training takes different times. Latencies are those of a server that keeps up.
    """

    BURST = "at once"
    STEADY = "one by one"

    def seconds(self, clients: int) -> float:
        """Over which they come."""
        return BURST_SECONDS if self is Pace.BURST else clients / STEADY_RATE


@dataclass(frozen=True)
class Scene:
    """What a round was played in.

    Attributes:
        database: sqlite or postgresql.
        clients: of the round.
        pace: how they came.
        slow: sockets that dripped meanwhile.
        replicas: processes of the aggregator, to which clients go in turn.
        kills: of replicas so far; None where none was to be killed.
    """

    database: str
    clients: int
    pace: Pace = Pace.STEADY
    slow: int = 0
    replicas: int = 1
    kills: int | None = None

    @property
    def name(self) -> str:
        """As the report calls it."""
        beside = f", {self.slow} slow" if self.slow else ""
        among = f", {self.replicas} replicas" if self.replicas > 1 else ""
        killed = "" if self.kills is None else f", {self.kills} killed so far"
        return f"{self.database}, {self.clients} clients {self.pace.value}{beside}{among}{killed}"


def rounds(sizes: Sequence[int], databases: Sequence[str], *, slow: Sequence[int]) -> Iterator[tuple[Scene, Measured]]:
    """Rounds of each size on each database; each size is prepared once.

    Args:
        sizes: clients of a round.
        databases: some of `DATABASES`.
        slow: numbers of slow sockets; beside them clients come one by one. Without them they come at once, too, and on
            PostgreSQL to one and to two replicas: Python uses one core in each.
    """
    with _server(databases) as server:
        for clients in sizes:
            with site(clients) as made:
                for database, count in product(databases, slow):
                    for pace, many in _paces(database, count):
                        with _database(database, server) as url:
                            yield Scene(database, clients, pace, count, many), _round(made, url, pace, count, many)


def killed(
    clients: int = KILLED_CLIENTS,
    count: int = KILLED_ROUNDS,
    arrivals: float = KILLED_ARRIVALS,
    every: float = EVERY_SECONDS,
) -> Iterator[tuple[Scene, Measured]]:
    """Rounds on PostgreSQL before three replicas, one of which is killed every few seconds."""
    kills = Kills()
    with (
        _server(["postgresql"]) as server,
        site(clients) as made,
        _database("postgresql", server) as url,
        made.installed(url) as (context, keys),
        replicas(keys.parent, url, keys, KILLED_REPLICAS) as (origin, running),
        balanced(keys.parent, int(origin.rpartition(":")[2]), [one.port for one in running]) as ports,
    ):
        for number in range(count):
            prepared = made.crowd.prepare(context) if number else made.prepared
            measured = measure(
                made.crowd,
                prepared,
                context,
                origin,
                ports,
                running,
                arrivals=arrivals,
                beside=[killing(running, kills, every)],
                database_pids=_pids(url),
            )
            yield Scene("postgresql", clients, replicas=KILLED_REPLICAS, kills=kills.count), measured


def _paces(database: str, slow: int) -> Iterator[tuple[Pace, int]]:
    if not slow:
        yield Pace.BURST, 1
        if database == "postgresql":
            yield Pace.BURST, 2
    yield Pace.STEADY, 1


def _round(made: Site, url: str, pace: Pace, slow: int, count: int) -> Measured:
    with made.installed(url) as (context, keys), replicas(keys.parent, url, keys, count) as (origin, running):
        ports = [one.port for one in running]
        beside = [slow_sockets(ports[0], slow)] if slow else []
        return measure(
            made.crowd,
            made.prepared,
            context,
            origin,
            ports,
            running,
            arrivals=pace.seconds(len(made.crowd.clients)),
            beside=beside,
            database_pids=_pids(url),
        )


@contextmanager
def _server(databases: Sequence[str]) -> Iterator[Postgres | None]:
    if "postgresql" not in databases:
        yield None
        return
    # It keeps what it acknowledges, as it would for real.
    with postgres.running(durable=True) as server:
        yield server


@contextmanager
def _database(name: str, server: Postgres | None) -> Iterator[str]:
    if name == "sqlite":
        with TemporaryDirectory(prefix="fgpr-load-") as folder:
            yield migrated_sqlite(Path(folder) / "fgpr.db")
    else:
        assert server is not None
        with server.database() as url:
            yield url


def _pids(url: str) -> list[int]:
    """PostgreSQL's processes where they run on this machine; more come with connections, and count when they end."""
    folder = make_url(url).query.get("host")
    if not isinstance(folder, str) or not (Path(folder) / "postmaster.pid").exists():
        return []
    return [int((Path(folder) / "postmaster.pid").read_text().split()[0])]
