"""What the rules look at: the rows of one database, read into documents, and what was handed over beside it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from aggregator.service.invariants.invariant import Violation
from aggregator.storage.records import Rows
from fgpr import canonical
from fgpr.auditlog import entries
from fgpr.errors import FgprError
from fgpr.federated.federation import Federation
from fgpr.federated.publication import PriorRecord
from fgpr.journal import Answer, SeenPlan
from fgpr.message import Signed
from fgpr.rest import Receipt
from fgpr.secagg.messages import Cohort, Complaint, Header, LogPosition, Opening, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Stage

T = TypeVar("T")

FORM_ERRORS = (FgprError, TypeError, ValueError, LookupError, AttributeError)
"""What reading a value raises that does not have its form."""


@dataclass(frozen=True)
class Contribution:
    """A stored contribution; masked vector and boxes are None once its round has ended."""

    body_digest: bytes
    header: Signed[Header]
    masked: bytes | None = field(repr=False)
    boxes: tuple[bytes, ...] | None = field(repr=False)


@dataclass
class Round:
    """A stored round with all that belongs to it, by client."""

    federation: str
    number: int
    stage: Stage
    plan: Signed[Plan]
    cohort: Signed[Cohort] | None
    empty_cohort: Signed[Cohort] | None
    contribute_until: datetime
    open_until: datetime
    ended_at: datetime | None
    roster: Roster | None
    contributions: dict[str, Contribution] = field(default_factory=dict)
    openings: dict[str, Signed[Opening]] = field(default_factory=dict)
    complaints: dict[str, Signed[Complaint]] = field(default_factory=dict)

    def target(self, digest: bytes) -> Cohort | None:
        """The cohort of this round that has this digest."""
        for signed in (self.cohort, self.empty_cohort):
            if signed is not None and signed.message.digest() == digest:
                return signed.message
        return None

    def __str__(self) -> str:
        return f"round {self.number} of {self.federation}"


@dataclass(frozen=True)
class Journal:
    """What an agent wrote of its rounds, by number.

    Attributes:
        name: where it lies, for people.
        federation, client: whose it is.
        enrolled: whether its enrolment was acknowledged.
        checkpoint: the last one that it kept.
        charged: rounds in its ledger.
        receipts: acknowledgements that it got, where they were kept.
    """

    name: str
    federation: str
    client: str
    enrolled: bool = False
    checkpoint: LogPosition | None = None
    charged: frozenset[int] = frozenset()
    plans: Mapping[int, SeenPlan] = field(default_factory=dict)
    contributions: Mapping[int, bytes] = field(default_factory=dict)
    openings: Mapping[int, Answer] = field(default_factory=dict)
    receipts: Sequence[Receipt] = ()


@dataclass(frozen=True)
class Handed:
    """What was handed over beside the database.

    Attributes:
        checkpoints: of the log, kept outside, by where they were kept; their signatures hold.
        leaves: pages of the log that were read from an aggregator, by where they lie: first index and leaves.
        journals: of agents.
        secrets: private keys that must stand nowhere, by what they are.
    """

    checkpoints: Mapping[str, LogPosition] = field(default_factory=dict)
    leaves: Mapping[str, tuple[int, Sequence[bytes]]] = field(default_factory=dict)
    journals: Sequence[Journal] = ()
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass
class Evidence:
    """All of it.

    Attributes:
        rows: every row as stored.
        now: when it was read.
        service_key: the aggregator's public key, 32 bytes.
        leaves: the audit log, read; None where a leaf does not have its form.
        settings: of each federation.
        rosters: by federation and version.
        priors: by federation and version.
        rounds: by federation and number.
        damage: what does not have its form.
    """

    rows: Rows
    now: datetime
    service_key: bytes
    handed: Handed
    raw_leaves: list[bytes] = field(default_factory=list)
    leaves: list[entries.Leaf | None] = field(default_factory=list)
    settings: dict[str, Federation] = field(default_factory=dict)
    rosters: dict[tuple[str, int], Signed[Roster]] = field(default_factory=dict)
    priors: dict[tuple[str, int], Signed[PriorRecord]] = field(default_factory=dict)
    rounds: dict[tuple[str, int], Round] = field(default_factory=dict)
    damage: list[Violation] = field(default_factory=list)

    def logged(self) -> Iterator[tuple[int, entries.Leaf]]:
        """Index and leaf of every leaf that has its form."""
        return ((index, leaf) for index, leaf in enumerate(self.leaves) if leaf is not None)

    def read(self, number: int, what: str, act: Callable[[], T]) -> T | None:
        """What `act` gives; where that does not have its form, None and a violation of invariant `number`."""
        try:
            return act()
        except FORM_ERRORS as error:
            self.damage.append(Violation(number, f"{what} cannot be read: {error}"))
            return None


def gather(rows: Rows, unreadable: Mapping[str, str], now: datetime, service_key: bytes, handed: Handed) -> Evidence:
    """Read rows into documents; what cannot be read is damage, and the rest is judged all the same."""
    found = Evidence(rows, now, service_key, handed)
    for table, reason in unreadable.items():
        found.damage.append(Violation(4, f"table {table} cannot be read: {reason}"))
    found.raw_leaves = [row["leaf"] for row in rows["log_leaves"]]
    for index, raw in enumerate(found.raw_leaves):
        found.leaves.append(found.read(11, f"leaf {index}", partial(entries.decode, raw)))
    for row in rows["federations"]:
        settings = found.read(4, f"the settings of {row['name']}", partial(Federation.decode, row["settings"]))
        if settings is not None:
            found.settings[row["name"]] = settings
    _documents(found, "rosters", found.rosters, Signed[Roster].decode)
    _documents(found, "priors", found.priors, Signed[PriorRecord].decode)
    for row in rows["rounds"]:
        made = found.read(4, f"round {row['number']} of {row['federation']}", partial(_round, found, row))
        if made is not None:
            found.rounds[made.federation, made.number] = made
    for table, take in (("contributions", _contribute), ("openings", _open), ("complaints", _complain)):
        for row in rows[table]:
            what = f"{row['client']}'s row of {table} in round {row['round']} of {row['federation']}"
            round_ = found.rounds.get((row["federation"], row["round"]))
            if round_ is None:
                found.damage.append(Violation(5, f"{what} is of no round"))
                continue
            found.read(5, what, partial(take, round_, row))
    return found


def _documents(found: Evidence, table: str, into: dict[tuple[str, int], T], decode: Callable[[bytes], T]) -> None:
    for row in found.rows[table]:
        what = f"version {row['version']} of the {table} of {row['federation']}"
        document = found.read(4, what, partial(decode, row["document"]))
        if document is not None:
            into[row["federation"], row["version"]] = document


def _round(found: Evidence, row: Mapping[str, Any]) -> Round:
    plan = Signed[Plan].decode(row["plan"])
    roster = found.rosters.get((row["federation"], plan.message.roster_version))
    return Round(
        federation=row["federation"],
        number=row["number"],
        stage=Stage(row["stage"]),
        plan=plan,
        cohort=None if row["cohort"] is None else Signed[Cohort].decode(row["cohort"]),
        empty_cohort=None if row["empty_cohort"] is None else Signed[Cohort].decode(row["empty_cohort"]),
        contribute_until=row["contribute_until"],
        open_until=row["open_until"],
        ended_at=row["ended_at"],
        roster=None if roster is None else roster.message,
    )


def _contribute(made: Round, row: Mapping[str, Any]) -> None:
    boxes = None if row["boxes"] is None else tuple(canonical.from_text(box) for box in canonical.parse(row["boxes"]))
    header = Signed[Header].decode(row["header"])
    made.contributions[row["client"]] = Contribution(row["body_digest"], header, row["masked"], boxes)


def _open(made: Round, row: Mapping[str, Any]) -> None:
    made.openings[row["client"]] = Signed[Opening].decode(row["document"])


def _complain(made: Round, row: Mapping[str, Any]) -> None:
    made.complaints[row["client"]] = Signed[Complaint].decode(row["document"])
