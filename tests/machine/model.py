"""What was ever acknowledged or seen, and how a database has to follow from it: the small model beside the service."""

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime

from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, LogPosition, Opening, Plan
from fgpr.secagg.stages import RUNNING, TRANSITIONS, Stage
from machine.seen import Seen, SeenRound
from machine.violation import require


def _reachable() -> dict[Stage, set[Stage]]:
    """Where a round may be a while later."""
    found = {stage: {stage} for stage in Stage}
    for _ in Stage:
        for (start, _event), end in TRANSITIONS.items():
            found[start] |= found[end]
    return found


REACHABLE = _reachable()


@dataclass
class Disks:
    """What lies with the clients, where no restored backup takes it back.

    Attributes:
        written: every body that its client ever wrote, by digest: round and client.
        keys: ids of every key that a client ever made.
    """

    written: dict[bytes, tuple[int, str]] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Model:
    """What must stay true; a restored backup takes it back to what held when that was written.

    Attributes:
        disks: of the clients.
        enrolled: acknowledged.
        revoked: acknowledged.
        counted: acknowledged contributions, digest of the body by round and client.
        opened: acknowledged openings that were counted, by round and member.
        positions: every checkpoint ever seen.
        last: what was seen after the step before.
    """

    service_key: bytes
    disks: Disks = field(default_factory=Disks)
    enrolled: set[str] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    counted: dict[tuple[int, str], bytes] = field(default_factory=dict)
    opened: dict[tuple[int, str], bytes] = field(default_factory=dict)
    positions: tuple[LogPosition, ...] = ()
    last: Seen = field(default_factory=Seen)
    frontier: merkle.Frontier = field(default_factory=merkle.Frontier.empty)

    def copied(self) -> "Model":
        """What it says now, to be gone back to; the clients' disks are not copied."""
        return dataclasses.replace(
            self,
            enrolled=set(self.enrolled),
            revoked=set(self.revoked),
            counted=dict(self.counted),
            opened=dict(self.opened),
        )

    def check(self, seen: Seen, now: datetime) -> None:
        """Hold what is seen against what was, and remember it.

        Raises:
            Violation: an invariant is broken.
        """
        self._check_log(seen)
        self._check_priors(seen)
        self._check_rounds(seen)
        self._check_clients(seen)
        self._check_contributions(seen, now)
        self._check_openings(seen)
        self.last = seen

    def _check_log(self, seen: Seen) -> None:
        known = self.last.leaves
        require(seen.leaves[: len(known)] == known, 11, f"the first {len(known)} leaves of the log are others now")
        for leaf in seen.leaves[len(known) :]:
            self.frontier, _ = self.frontier.append(merkle.leaf_hash(leaf))
        if seen.note != self.last.note:
            name = checkpoint.name_of(self.service_key)
            signed = checkpoint.open_note(seen.note, name, self.service_key)
            position = (self.frontier.size, self.frontier.root())
            require((signed.size, signed.root) == position, 11, "the checkpoint is not that of the leaves")
            self.positions += (LogPosition(size=signed.size, root=signed.root),)
        else:
            require(seen.leaves == known, 11, "leaves came without a checkpoint")

    def _check_priors(self, seen: Seen) -> None:
        for version, document in self.last.priors.items():
            require(seen.priors.get(version) == document, 1, f"prior {version} was changed")
        require(sorted(seen.priors) == list(range(len(seen.priors))), 1, "the versions of the priors have gaps")
        fresh = seen.priors.keys() - self.last.priors.keys()
        if fresh:
            of_round = [Signed[PriorRecord].decode(document).message.round for document in seen.priors.values()]
            require(len(set(of_round)) == len(of_round), 1, "a round published two priors")

    def _check_rounds(self, seen: Seen) -> None:
        for number, before in self.last.rounds.items():
            now = seen.rounds.get(number)
            require(now is not None, 4, f"round {number} is gone")
            assert now is not None
            require(now.plan == before.plan, 4, f"the plan of round {number} was changed")
            require(now.stage in REACHABLE[before.stage], 4, f"round {number} went {before.stage} -> {now.stage}")
            for old, new in ((before.cohort, now.cohort), (before.empty, now.empty)):
                require(old in (None, new), 6, f"round {number} has another cohort")
        running = [
            number for number, found in seen.rounds.items() if found.stage in (Stage.CONTRIBUTING, Stage.OPENING)
        ]
        require(running in ([], [seen.last]), 4, f"rounds {running} run")
        for number, found in seen.rounds.items():
            before_cohort = self.last.rounds[number].cohort if number in self.last.rounds else None
            if found.cohort is not None and before_cohort is None:
                self._check_cohort(seen, number, found, found.cohort)
            if found.stage not in RUNNING:
                left = [client for of_round, client in seen.masked if of_round == number]
                require(not left, 15, f"round {number} has ended and masked vectors of {left} are there")

    def _check_cohort(self, seen: Seen, number: int, found: SeenRound, document: bytes) -> None:
        plan, cohort = Signed[Plan].decode(found.plan).message, Signed[Cohort].decode(document).message
        members = [member.client for member in cohort.members]
        require(len(members) == len(set(members)) >= plan.min_cohort >= 3, 3, f"cohort {members} of round {number}")
        require(set(members) <= set(plan.invited), 7, f"cohort {members} of round {number} of {plan.invited}")
        came = {client for of_round, client in seen.contributions if of_round == number}
        require(set(members) <= came, 13, f"cohort {members} of round {number}, to which {sorted(came)} contributed")
        gone = {client for client in members if client in self.last.clients and self.last.clients[client][1]}
        require(not gone, 8, f"the cohort of round {number} counts {sorted(gone)}, revoked before")

    def _check_clients(self, seen: Seen) -> None:
        for client in self.enrolled:
            require(client in seen.clients, 13, f"{client} is enrolled, and the database does not know it")
        for client, (key, _) in seen.clients.items():
            require(key in self.disks.keys[client], 9, f"{client} has a key that it never made")
        for client, (key, revoked) in self.last.clients.items():
            require(client in seen.clients, 9, f"{client} is gone")
            require(seen.clients[client][1] or not revoked, 8, f"{client} is not revoked any more")
            require(not revoked or seen.clients[client][0] == key, 8, f"{client} is revoked and replaced its key")
        for client in self.revoked:
            require(seen.clients[client][1], 13, f"{client} was revoked, and the database does not know it")
        ids = [key for key, _ in seen.clients.values()]
        require(len(set(ids)) == len(ids), 9, "two clients have one key")

    def _check_contributions(self, seen: Seen, now: datetime) -> None:
        for place, digest in self.last.contributions.items():
            require(seen.contributions.get(place) == digest, 5, f"the contribution {place} was changed or lost")
        for place, digest in self.counted.items():
            require(
                seen.contributions.get(place) == digest, 13, f"the contribution {place} was acknowledged and is lost"
            )
        for place in seen.contributions.keys() - self.last.contributions.keys():
            number, client = place
            written = self.disks.written.get(seen.contributions[place])
            require(written == place, 5, f"the contribution {place} is none that its client wrote for that round")
            require(not self._was_revoked(client), 8, f"{client} is revoked and contributed to round {number}")
            before = self.last.rounds.get(number)
            in_time = now < seen.rounds[number].contribute_until and (
                before is None or before.stage is Stage.CONTRIBUTING
            )
            require(in_time, 5, f"round {number} took a contribution of {client} too late")

    def _check_openings(self, seen: Seen) -> None:
        for known in (self.last.openings, self.opened):
            for place, document in known.items():
                require(seen.openings.get(place) == document, 13, f"the opening {place} was changed or lost")
        for number, client in seen.openings.keys() - self.last.openings.keys():
            require(not self._was_revoked(client), 8, f"{client} is revoked and opened round {number}")
            opening, found = Signed[Opening].decode(seen.openings[number, client]).message, seen.rounds[number]
            cohorts = [document for document in (found.cohort, found.empty) if document is not None]
            digests = [Signed[Cohort].decode(document).message.digest() for document in cohorts]
            require(opening.cohort in digests, 6, f"{client} opened no cohort of round {number}")

    def _was_revoked(self, client: str) -> bool:
        return client in self.last.clients and self.last.clients[client][1]
