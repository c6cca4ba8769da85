"""What appending to a long log costs in each database, and what its proofs cost."""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from aggregator.storage import log
from aggregator.storage.engine import Database
from benchmarks_log.long_log import LongLog
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.checkpoint import Checkpoint

BATCH = 1_000
"""Leaves in one transaction while the log is filled."""

TIMES = 1_000
"""How often each thing is timed."""


@dataclass(frozen=True)
class Times:
    """Milliseconds, one for each time.

    Attributes:
        median: of them.
        p99: above which one in a hundred lies.
    """

    median: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Times":
        """From seconds."""
        ordered = sorted(seconds)
        return cls(statistics.median(ordered) * 1e3, ordered[int(len(ordered) * 0.99)] * 1e3)


@dataclass(frozen=True)
class Costs:
    """What was measured in one database.

    Attributes:
        append: of one leaf, its nodes, the head and its signature, inside the transaction.
        committed: the same with a transaction of its own, to its end.
        inclusion: a proof of a random leaf.
        consistency: a proof from a random size to the newest.
    """

    append: Times
    committed: Times
    inclusion: Times
    consistency: Times


class Head:
    """Signs the checkpoints of a long log as the aggregator does."""

    def __init__(self, made: LongLog) -> None:
        self._made, self._name = made, checkpoint.name_of(made.public_key)

    def __call__(self, size: int, root: bytes) -> str:
        return checkpoint.sign(Checkpoint(self._name, size, root), self._name, self._made.service_key)


def measure(database: Database, leaves: Sequence[bytes], sign: Head, told: Callable[[int], None]) -> Costs:
    """Fill a log, all but the last TIMES leaves in batches, those one by one; then ask for proofs."""
    with database.write() as connection:
        log.start(connection, sign(0, merkle.EMPTY_ROOT))
    rest, last = leaves[:-TIMES], leaves[-TIMES:]
    source = iter(rest)
    while batch := list(islice(source, BATCH)):
        with database.write() as connection:
            log.append(connection, batch, sign)
        told(len(batch))
    appended, committed = [], []
    for leaf in last:
        begun = time.perf_counter()
        with database.write() as connection:
            inside = time.perf_counter()
            log.append(connection, [leaf], sign)
            appended.append(time.perf_counter() - inside)
        committed.append(time.perf_counter() - begun)
    told(len(last))
    inclusion, consistency = _proofs(database, leaves)
    return Costs(Times.of(appended), Times.of(committed), inclusion, consistency)


def _proofs(database: Database, leaves: Sequence[bytes]) -> tuple[Times, Times]:
    rng, size = random.Random(1), len(leaves)
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    tree = merkle.Tree(hashes)
    root = tree.root()
    included, continued = [], []
    with database.read() as connection:
        for _ in range(TIMES):
            place, old = rng.randrange(size), rng.randrange(1, size)
            begun = time.perf_counter()
            inclusion = log.prove(connection, partial(merkle.inclusion_proof, place, size))
            between = time.perf_counter()
            consistency = log.prove(connection, partial(merkle.consistency_proof, old, size))
            continued.append(time.perf_counter() - between)
            included.append(between - begun)
            merkle.verify_inclusion(hashes[place], place, size, inclusion, root)
            merkle.verify_consistency(old, merkle.frontier(old, tree.node).root(), size, root, consistency)
    return Times.of(included), Times.of(continued)
