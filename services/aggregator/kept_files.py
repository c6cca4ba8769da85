"""What an operator hands to `fgpr-aggregator doctor` beside the database: files of the log, and agents' homes.

A file of the log is a signed checkpoint (as a note, or as `GET /v1/log/checkpoint` answers) or a page of leaves (as
`GET /v1/log/entries` answers). A home is the folder of an `fgpr-agent`; only what `fgpr.journal` and this file name is
read of it, and no key.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from aggregator.service.invariants.evidence import FORM_ERRORS, Handed, Journal
from fgpr import canonical, journal
from fgpr.auditlog import checkpoint
from fgpr.errors import DataError
from fgpr.journal import Answer, SeenPlan
from fgpr.rest import CheckpointView, LogEntries
from fgpr.secagg.messages import LogPosition

WHAT_TO_KEEP = "what `GET /v1/log/checkpoint` answered belongs there, or the note in it alone"
"""Of a file with a checkpoint."""

MEMBERSHIP, CHECKPOINT, LEDGER = "membership.json", "checkpoint.json", "privacy.json"


def read(
    logs: Iterable[Path],
    homes: Iterable[Path],
    service_key: bytes,
    secrets: dict[str, bytes],
    remembered: str | None = None,
) -> Handed:
    """Read all of it.

    Args:
        logs: files of the log.
        homes: agents' homes.
        service_key: the aggregator's public key, which signed the checkpoints.
        secrets: private keys that must stand nowhere.
        remembered: the signed checkpoint that the aggregator keeps beside its keys.

    Raises:
        DataError: a file is missing, or not what it should be; names it.
    """
    checkpoints: dict[str, LogPosition] = {}
    leaves: dict[str, tuple[int, Sequence[bytes]]] = {}
    if remembered is not None:
        try:
            checkpoints["the keys' folder"] = _position(remembered, service_key)
        except FORM_ERRORS as error:
            raise DataError(f"the checkpoint beside the keys is none of this aggregator: {error}") from error
    for path in logs:
        try:
            raw = path.read_bytes()
            page = LogEntries.decode(raw) if raw.startswith(b"{") and b'"leaves"' in raw else None
            if page is not None:
                leaves[str(path)] = page.start, page.leaves
                continue
            checkpoints[str(path)] = _position(_note(raw), service_key)
        except (OSError, *FORM_ERRORS) as error:
            raise DataError(f"{path} is no checkpoint of this aggregator and no page of its log: {error}") from error
    return Handed(checkpoints, leaves, [read_home(home) for home in homes], secrets)


def read_note(path: Path) -> str:
    """The signed checkpoint in a file: a note, or what `GET /v1/log/checkpoint` answered.

    Raises:
        DataError: it cannot be read, or is neither; names it.
    """
    try:
        return _note(path.read_bytes())
    except (OSError, *FORM_ERRORS) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"cannot read the checkpoint {path}: {reason}; {WHAT_TO_KEEP}") from error


def read_home(home: Path) -> Journal:
    """The journal of one agent.

    Raises:
        DataError: a file is missing or damaged; names it.
    """
    path = home / MEMBERSHIP
    try:
        member = _parsed(path)
        federation, client = str(member["federation"]), str(member["client"])
        path = home / CHECKPOINT
        kept = LogPosition.decode(path.read_bytes()) if path.exists() else None
        path = home / LEDGER
        charged = frozenset(int(charge["round"]) for charge in _parsed(path)["charges"]) if path.exists() else ()
        plans: dict[int, SeenPlan] = {}
        contributions: dict[int, bytes] = {}
        openings: dict[int, Answer] = {}
        for path in sorted((home / journal.ROUNDS).glob("*/*.json")):
            number = int(path.parent.name)
            match path.name:
                case journal.PLAN:
                    plans[number] = SeenPlan.decode(path.read_bytes())
                case journal.CONTRIBUTION:
                    contributions[number] = path.read_bytes()
                case journal.OPENING:
                    openings[number] = Answer.decode(path.read_bytes())
    except (OSError, *FORM_ERRORS) as error:
        raise DataError(f"{path} is not a file of an agent's home: {error}") from error
    return Journal(
        name=str(home),
        federation=federation,
        client=client,
        enrolled=True,
        checkpoint=kept,
        charged=frozenset(charged),
        plans=plans,
        contributions=contributions,
        openings=openings,
    )


def _note(raw: bytes) -> str:
    return CheckpointView.decode(raw).note if raw.startswith(b"{") else raw.decode("utf-8")


def _position(note: str, service_key: bytes) -> LogPosition:
    found = checkpoint.open_note(note, checkpoint.name_of(service_key), service_key)
    return LogPosition(size=found.size, root=found.root)


def _parsed(path: Path) -> Any:
    return canonical.parse(path.read_bytes())
