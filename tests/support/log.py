"""An audit log in memory: a list of leaves, and what clients ask of it."""

from dataclasses import dataclass, field

from fgpr import merkle
from fgpr.auditlog import entries
from fgpr.secagg.checked_plan import LogView
from fgpr.secagg.log_span import LogSpan
from fgpr.secagg.messages import Cohort, LogPosition, Plan


@dataclass
class Log:
    """Leaves, oldest first."""

    leaves: list[bytes] = field(default_factory=list)

    def append(self, leaf: entries.Leaf) -> None:
        """One more leaf."""
        self.leaves.append(leaf.encode())

    def tree(self) -> merkle.Tree:
        """The tree over all leaves."""
        return merkle.Tree([merkle.leaf_hash(leaf) for leaf in self.leaves])

    def position(self) -> LogPosition:
        """The present checkpoint."""
        return LogPosition(size=len(self.leaves), root=self.tree().root())

    def proof(self, old: int, new: int | None = None) -> merkle.Proof:
        """A consistency proof of the log."""
        return merkle.consistency_proof(old, len(self.leaves) if new is None else new, self.tree().node)

    def span(self, start: LogPosition, cohort: Cohort, kept: LogPosition | None) -> LogSpan:
        """The leaves from there to the cohort's checkpoint, as a member fetches them."""
        end = cohort.checkpoint.size
        since = self.proof(end, kept.size) if kept is not None and kept.size > end else ()
        return LogSpan(merkle.frontier(start.size, self.tree().node), self.leaves[start.size : end], since)

    def view(self, plan: Plan, kept: LogPosition | None) -> LogView:
        """The log as a client sees it now that kept this checkpoint."""
        return LogView(self.position(), () if kept is None else self.proof(kept.size), self.proof(plan.checkpoint.size))
