"""Runs every invariant of docs/threat-model.md over one database and what was handed over beside it."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from aggregator.service import inspection
from aggregator.service.invariants import aggregates, bodies, erasure, kept, membership, transitions
from aggregator.service.invariants.evidence import FORM_ERRORS, Evidence, Handed, gather
from aggregator.service.invariants.invariant import Violation
from aggregator.storage import log, records, remains
from aggregator.storage.engine import Connection, Database
from fgpr import merkle
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import verify_trail
from fgpr.secagg.messages import LogPosition

RULES: dict[int, Callable[[Evidence], Iterator[Violation]]] = {
    1: aggregates.check_single,
    2: aggregates.check_mean,
    3: aggregates.check_size,
    4: transitions.check_stages,
    5: bodies.check_bodies,
    6: bodies.check_openings,
    7: membership.check_cohorts,
    8: membership.check_revoked,
    9: membership.check_tickets,
    10: kept.check_nonces,
    11: kept.check_checkpoints,
    13: kept.check_durable,
    14: bodies.check_contributions,
    15: erasure.check_erased,
    16: kept.check_charged,
    17: transitions.check_ends,
}
"""By the number of the invariant. 12 is what `fgpr.auditlog.verification` verifies of each prior's leaf."""

_OF_LEAVES = {
    "prior": 12,
    "federation": 7,
    "roster": 7,
    "enrolled": 7,
    "ticket": 9,
    "revoked": 8,
    "convicted": 8,
    "opening-key": 8,
    "complaint": 5,
}


def check(
    database: Database,
    now: datetime,
    service_key: bytes,
    roster_keys: Mapping[str, bytes],
    handed: Handed | None = None,
) -> list[Violation]:
    """Every violation, by number.

    Args:
        database: of this program's schema.
        now: the present time, aware.
        service_key: the aggregator's public key, 32 bytes.
        roster_keys: public roster keys that are known from outside the database; others are taken from it.
        handed: checkpoints, leaves and journals that were kept outside.

    Raises:
        Unavailable: the database is away.
        OSError: SQLite's file cannot be read.
    """
    with database.read() as connection:
        rows, unreadable = records.read(connection)
        found = gather(rows, unreadable, now, service_key, handed or Handed())
        keys = {row["name"]: row["roster_key"] for row in rows["federations"]} | dict(roster_keys)
        violations = [*found.damage, *_inspect(connection, found, keys)]
    for number, rule in RULES.items():
        try:
            violations += rule(found)
        except FORM_ERRORS as error:
            # SQLite keeps values of any type in any column.
            violations.append(Violation(number, f"a stored value does not have the form of its column: {error}"))
    # Outside of the transaction: gigabytes are read, and a reader keeps the write-ahead log from being emptied.
    violations += erasure.check_remains(remains.places(database), found.handed.secrets)
    return sorted(dict.fromkeys(violations), key=lambda one: one.number)


def _inspect(connection: Connection, found: Evidence, roster_keys: dict[str, bytes]) -> Iterator[Violation]:
    """What `inspection` and the trail verify: the tree, each document's signature, and that tables hold the logged."""
    try:
        frontier, note = log.read_head(connection)
        inspection.check_tree(connection, found.raw_leaves, frontier)
        inspection.check_head(frontier, note, found.service_key)
        whole = LogPosition(size=frontier.size, root=frontier.root())
    except FORM_ERRORS as error:
        yield Violation(11, f"the audit log is damaged: {error}")
        return
    trail: Trail | None = None
    try:
        trail = verify_trail(found.raw_leaves, whole, found.service_key, roster_keys)
    except FORM_ERRORS as error:
        yield _blame(found, roster_keys, str(error))
    if trail is None:
        return
    try:
        inspection.check_tables(connection, trail, roster_keys)
    except FORM_ERRORS as error:
        yield Violation(4, f"log and tables tell different things: {error}")


def _blame(found: Evidence, roster_keys: Mapping[str, bytes], reason: str) -> Violation:
    """The invariant of the first leaf that does not follow from those before it."""
    low, high = 0, len(found.raw_leaves)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            verify_trail(
                found.raw_leaves[:middle], LogPosition(size=0, root=merkle.EMPTY_ROOT), found.service_key, roster_keys
            )
            low = middle
        except FORM_ERRORS:
            high = middle
    leaf = found.leaves[low] if low < len(found.leaves) else None
    number = 11 if leaf is None else _OF_LEAVES.get(leaf.kind, 4)
    return Violation(number, f"leaf {low} does not follow from those before it: {reason}")
