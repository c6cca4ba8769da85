"""A log of real rounds, verified from its first leaf, and a keeper that forges it with every key it has.

The keeper signs again whatever it changes, so that only the check that is meant can find it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle, signatures
from fgpr.auditlog import entries
from fgpr.auditlog.entries import Leaf
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import verify_trail
from fgpr.errors import VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rotation import SignedKeyChange
from fgpr.secagg.messages import Cohort, LogPosition, Plan
from fgpr.secagg.roster import Roster
from fgpr.secagg.stages import Event
from support.client import NAME
from support.federation import Federation

READER = "reader-00"
READERS_KEY, ITS_NEXT_KEY, A_THIRD_KEY = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2, 3))
EXPIRES = "2031-03-09T21:30:00.000Z"


def played(size: int = 5, **options: Any) -> Federation:
    """Rounds with every ending: published, void, carried; a client revoked; then one that is published."""
    made = Federation(size, logs_all=True, **options)
    made.run(dict.fromkeys(made.names, ((0.1, -0.2, 0.3), 5)))
    for voting in (made.names, ()):
        made.plan()
        for name in made.names[:2]:
            made.contribute(name, np.zeros(3))
        made.abort(Event.TOO_FEW_CONTRIBUTIONS)
        for name in voting:
            made.open(name)
        made.settle()
    made.log.append(state("paused"))
    made.log.append(state("resumed"))
    made.revoke(made.names[-1])
    made.plan()
    for name in made.names[:-1]:
        made.contribute(name, np.full(3, 0.2), 3)
    made.close()
    for name in made.names[:-1]:
        made.open(name)
    made.finish()
    made.sign_roster(2)
    for leaf in readers():
        made.log.append(leaf)
    made.log.append(entries.EpochBegun(epoch="e" * 22))
    return made


def state(name: str) -> entries.StateChanged:
    return entries.StateChanged.from_json({"kind": "state", "federation": NAME, "state": name, "reason": "so"})


def readers() -> list[Leaf]:
    """A reader enrols and replaces its key."""
    ticket = bytes([7]) * 32
    return [
        entries.TicketIssued(federation=NAME, client=READER, role="reader", ticket=ticket, expires=EXPIRES, by="olga"),
        entries.Enrolled(
            federation=NAME,
            client=READER,
            role="reader",
            ticket=ticket,
            identity_key=signatures.public_bytes(READERS_KEY),
            declared=None,
        ),
        replaced(READERS_KEY, ITS_NEXT_KEY),
    ]


def replaced(
    old: Ed25519PrivateKey, new: Ed25519PrivateKey, client: str = READER, federation: str = NAME
) -> entries.KeyReplaced:
    rotation = SignedKeyChange.make(federation, client, old, new)
    return entries.KeyReplaced(federation=NAME, client=READER, rotation=rotation, declared=None)


class ForgedLog:
    """The leaves of a federation's log, which its keeper changes.

    Attributes:
        made: the federation, with every key.
        leaves: the log's, read.
    """

    def __init__(self, made: Federation) -> None:
        self.made = made
        self.leaves = [entries.decode(raw) for raw in made.log.leaves]

    def find(self, kind: str, nth: int = 0) -> int:
        """The place of the nth leaf of a kind; of the last one where it is -1."""
        return [place for place, leaf in enumerate(self.leaves) if leaf.kind == kind][nth]

    def leaf(self, kind: str, nth: int = 0) -> Any:
        return self.leaves[self.find(kind, nth)]

    def change(self, kind: str, nth: int = 0, **fields: Any) -> int:
        """Change fields of a leaf; its place."""
        place = self.find(kind, nth)
        self.leaves[place] = self.leaves[place].model_copy(update=fields)
        return place

    def change_document(self, kind: str, nth: int = 0, key: Ed25519PrivateKey | None = None, **fields: Any) -> int:
        """Change fields of the document in a leaf and sign it again, by default with the key it should have."""
        name = {"aborted": "cohort"}.get(kind, kind)
        document: Any = getattr(self.leaf(kind, nth), name).message
        signed: dict[str, Any] = {"plan": Signed[Plan], "cohort": Signed[Cohort], "prior": Signed[PriorRecord]}
        signed["roster"] = Signed[Roster]
        own = self.made.roster_key if name == "roster" else self.made.service_key
        again = signed[name].make(key or own, document.model_copy(update=fields))
        return self.change(kind, nth, **{name: again})

    def insert(self, place: int, *leaves: Leaf) -> int:
        self.leaves[place:place] = leaves
        return place

    def append(self, *leaves: Leaf) -> int:
        return self.insert(len(self.leaves), *leaves)

    def remove(self, kind: str, nth: int = 0) -> int:
        place = self.find(kind, nth)
        del self.leaves[place]
        return place

    def verify(self, roster_keys: dict[str, bytes] | None = None) -> Trail:
        """Verify against a checkpoint of the forged log itself: none is held outside that tells it from another."""
        raw = [leaf.encode() for leaf in self.leaves]
        return verify_trail(raw, position_of(raw), self.made.anchors.service_key, roster_keys or {})

    def refuses(self, place: int, reason: str) -> None:
        """The verifier stops at this leaf, for this reason."""
        with pytest.raises(VerificationError, match=f"^leaf {place}: {reason}"):
            self.verify()


def position_of(leaves: Sequence[bytes]) -> LogPosition:
    return LogPosition(size=len(leaves), root=merkle.root([merkle.leaf_hash(leaf) for leaf in leaves]))


def plan_of(log: ForgedLog, nth: int = 0) -> Any:
    return log.leaf("plan", nth).plan.message


def cohort_of(log: ForgedLog, kind: str = "cohort") -> Any:
    return log.leaf(kind).cohort.message


def elsewhere(position: LogPosition) -> LogPosition:
    return position.model_copy(update={"root": bytes(32)})


def without(log: ForgedLog, kind: str, nth: int, then: str, which: int) -> int:
    """Remove a leaf; the place of another one that cannot follow any more."""
    log.remove(kind, nth)
    return log.find(then, which)
