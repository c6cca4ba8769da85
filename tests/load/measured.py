"""One round under load: what is in the database before and after, and what the server took."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import federations, operator
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import federations as priors
from aggregator.storage import rounds
from fgpr.secagg.messages import Contribution
from fgpr.secagg.stages import Stage
from load.crowd import Crowd, PreparedRound, federation_of
from load.offered import Load, Seen
from load.processes import Replica, cpu_seconds, families, memory_mb
from support.client import NAME
from support.databases import migrated_sqlite
from support.replicas import Snapshot


@dataclass
class Site:
    """A federation whose clients are enrolled and whose round is open: rows for any database, and its keys."""

    folder: Path
    crowd: Crowd
    prepared: PreparedRound
    snapshot: Snapshot = field(repr=False)

    @contextmanager
    def installed(self, database: str) -> Iterator[tuple[Context, Path]]:
        """The rows in a database, a context on it, and a folder with the keys.

        The folder is a copy: beside the keys an aggregator keeps how long its log was, and starts with no shorter one.
        """
        with TemporaryDirectory(prefix="fgpr-load-") as folder:
            keys = Path(folder) / "keys"
            shutil.copytree(self.folder / "keys", keys)
            made = main.create_context(Settings(database=database, keys=keys))
            try:
                self.snapshot.restore(made.database)
                yield made, keys
            finally:
                made.database.close()


@contextmanager
def site(clients: int) -> Iterator[Site]:
    """Enrol so many clients and prepare their first round."""
    with TemporaryDirectory(prefix="fgpr-load-") as name:
        folder = Path(name)
        keys = KeyDirectory(folder / "keys")
        keys.ensure_service()
        context = main.create_context(Settings(database=migrated_sqlite(folder / "site.db"), keys=folder / "keys"))
        operator.start_log(context)
        federations.create(context, federation_of(clients), keys.ensure_roster(NAME))
        crowd = Crowd(clients)
        crowd.enrol(context)
        prepared = crowd.prepare(context)
        snapshot = Snapshot(context.database)
        context.database.close()
        yield Site(folder, crowd, prepared, snapshot)


@dataclass(frozen=True)
class Measured:
    """A round.

    Attributes:
        clients: how many.
        seen: what they saw.
        lost: contributions that were acknowledged and are not in the cohort as they were sent.
        published: whether the prior is the average of all of them.
        cpu: CPU seconds of the replicas.
        database_cpu: CPU seconds of PostgreSQL; 0 on SQLite, which runs in the replicas.
        memory: most MB that a replica had resident.
    """

    clients: int
    seen: Seen
    lost: int
    published: bool
    cpu: float
    database_cpu: float
    memory: float

    def quantile(self, endpoint: str, q: float) -> float:
        """A quantile of an endpoint's latencies, in milliseconds."""
        return 1000.0 * float(np.quantile(self.seen.seconds[endpoint], q))


def measure(
    crowd: Crowd,
    prepared: PreparedRound,
    context: Context,
    origin: str,
    ports: Sequence[int],
    replicas: Sequence[Replica],
    *,
    arrivals: float,
    beside: Sequence[AbstractAsyncContextManager[None]] = (),
    database_pids: Sequence[int] = (),
) -> Measured:
    """Let the clients of an open round come, and look at what is in the database then."""
    load = Load(crowd, prepared, origin, ports, arrivals=arrivals, beside=beside)

    def spent() -> tuple[float, float]:
        return sum(replica.cpu_seconds() for replica in replicas), cpu_seconds(families(database_pids))

    before = spent()
    seen = load.run()
    after = spent()
    lost, published = verdict(context, prepared, seen)
    return Measured(
        clients=len(prepared.plan.invited),
        seen=seen,
        lost=lost,
        published=published,
        cpu=after[0] - before[0],
        database_cpu=after[1] - before[1],
        memory=max(memory_mb(replica.pid) for replica in replicas),
    )


def verdict(context: Context, prepared: PreparedRound, seen: Seen) -> tuple[int, bool]:
    """Acknowledged contributions that are not counted, and whether the prior is what it has to be."""
    with context.database.read() as connection:
        row = rounds.read(connection, NAME, prepared.plan.round)
        counted = {} if row.cohort is None else {line.client: line.header for line in row.cohort.message.members}
        prior = priors.read_prior(connection, NAME)[0].message.vector()
    sent = {name: Contribution.decode(prepared.uploads[name]).header for name in seen.acknowledged}
    lost = sum(counted.get(name) != header.message.digest() for name, header in sent.items())
    right = bool(np.allclose(prior, prepared.average, atol=1e-6))
    return lost, row.stage is Stage.PUBLISHED and right
