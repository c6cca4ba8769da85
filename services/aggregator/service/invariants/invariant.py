"""The numbered invariants of docs/threat-model.md, in its words, and what to do where one does not hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Invariant:
    """What has to hold at every moment.

    Attributes:
        words: as docs/threat-model.md has it.
        remedy: what an operator does where it fails.
        by_journals: whether nothing can be said without an agent's journal.
        looked: where `doctor` looks and where not, where the words say more than it can see.
    """

    words: str
    remedy: str
    by_journals: bool = False
    looked: str | None = None


@dataclass(frozen=True)
class Violation:
    """One thing that should not be.

    Attributes:
        number: of the invariant.
        what: where and what, without secrets.
        remedy: what an operator does about it, where that is something else than for the invariant.
    """

    number: int
    what: str
    remedy: str | None = None


_TAMPERED = (
    "stop the aggregator, keep a copy of the database as evidence, and restore the newest backup that passes; nothing "
    "that this program commits leads here"
)

INVARIANTS: dict[int, Invariant] = {
    1: Invariant("At most one aggregate a round, never changed.", _TAMPERED),
    2: Invariant(
        "It is the weighted mean of the recorded cohort, exact in the field; with groups those of its groups, "
        "combined.",
        _TAMPERED,
    ),
    3: Invariant(
        "A cohort, or each group of it that is counted, has at least `min_cohort` >= K + 2 clients and its sum at "
        "least t openings; otherwise the round is aborted without one.",
        "publish nothing more: tell the clients of that cohort, and " + _TAMPERED,
    ),
    4: Invariant(
        "Each transition of a round has exactly one audit entry and is on a legal path.",
        "compare with a checkpoint that was kept outside (`--log`), and " + _TAMPERED,
    ),
    5: Invariant(
        "One accepted body for each round, client and stage, and it can be verified offline.",
        "ask the named client for the body in its journal, and " + _TAMPERED,
    ),
    6: Invariant(
        "No member opened two cohorts of one round, or cohorts of two rounds of one prior version unless the earlier "
        "is void.",
        "revoke the member: its agent was changed or its disk rolled back, and it counts among the x",
    ),
    7: Invariant("A cohort lies within the invited, and these within the enrolled and not revoked.", _TAMPERED),
    8: Invariant("Nothing is committed for a key after its revocation.", _TAMPERED),
    9: Invariant(
        "A ticket gives at most one identity.",
        "revoke the party named, invite it under another id, and " + _TAMPERED,
    ),
    10: Invariant(
        "A nonce has at most one effect, across replicas and restarts.",
        "check the primary key of `nonces` (`fgpr-aggregator migrate` makes it), and " + _TAMPERED,
    ),
    11: Invariant(
        "Every checkpoint is consistent with all earlier ones that anyone holds.",
        "the log was changed, cut or forked, or an old backup was restored: stop, and restore the newest backup that "
        "continues the checkpoint that was kept",
    ),
    12: Invariant("Each prior can be recomputed bit for bit from the logged aggregates.", _TAMPERED),
    13: Invariant(
        "What was acknowledged is durable.",
        "an old backup was restored, or the disk lies about what it wrote: restore a newer backup, and check the disk",
        by_journals=True,
    ),
    14: Invariant(
        "An agent sends one masked vector a round. Once it contributed to a round or opened a cohort of it, it takes "
        "another plan of the same prior version only after a void proof.",
        "stop that agent: its home was copied or rolled back; let it leave and enrol anew",
    ),
    15: Invariant(
        "No update, mask, private key or ticket is in plain in database, write-ahead log, backup or log file.",
        "start the aggregator, whose first look erases and purges; where a private key is named, replace that key",
        looked="searched for private keys in PEM and for the service and roster keys that lie here: SQLite's file and "
        "write-ahead log, free pages too, or every table of PostgreSQL's schema. Looked at in the rows: masked vectors "
        "and boxes of ended rounds, hashes of tickets. Not searched: backups, log files, PostgreSQL's own files",
    ),
    16: Invariant(
        "No contribution under differential privacy is on an agent's disk without its charge in the ledger.",
        "restore the agent's `privacy.json` from a backup taken since that round, or let it leave and enrol anew",
        by_journals=True,
    ),
    17: Invariant(
        "Once faults stop, every round is published or aborted by its deadline plus one tick.",
        "start the aggregator (`serve`), whose first look does what is due; where it runs, its log says why it waits "
        "(`event: deadlines`)",
    ),
}
"""By number."""
