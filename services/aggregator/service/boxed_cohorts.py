"""Closed cohorts unpacked for their members, each of whom asks for its own box of every contribution.

Only a cache: what is in it was read from the database, and a process that starts anew reads it again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from aggregator.storage.contributions import ContributionRow
from fgpr import canonical, merkle
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, CohortEntry, Header

MOST_COHORTS = 4
"""Cohorts that are kept; a federation has one at a time."""


@dataclass(frozen=True, repr=False)
class _Boxed:
    """One contribution: its signed header, its boxes in seat order, and their tree."""

    header: Signed[Header]
    boxes: tuple[bytes, ...]
    tree: merkle.Tree

    def entry(self, seat: int) -> CohortEntry:
        path = merkle.inclusion_proof(seat - 1, len(self.boxes), self.tree.node)
        return CohortEntry(header=self.header, box=self.boxes[seat - 1], path=path)


class BoxedCohorts:
    """The newest cohorts of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cohorts: OrderedDict[bytes, list[_Boxed]] = OrderedDict()

    def forget(self) -> None:
        """Let go of every cohort: one has ended, and its boxes are erased."""
        with self._lock:
            self._cohorts.clear()

    def entries(self, cohort: Cohort, seat: int, read: Callable[[], list[ContributionRow]]) -> tuple[CohortEntry, ...]:
        """What the member in `seat` gets of each contribution, in the cohort's order.

        Args:
            cohort: a closed cohort.
            seat: 1 to c.
            read: gives the round's contributions; called where this cohort is not kept.
        """
        digest = cohort.digest()
        # Under the lock: many members ask at once, and unpacking is the work of one.
        with self._lock:
            boxed = self._cohorts.get(digest)
            if boxed is None:
                counted = cohort.clients()
                boxed = [_unpack(line) for line in read() if line.client in counted]
                self._cohorts[digest] = boxed
            self._cohorts.move_to_end(digest)
            while len(self._cohorts) > MOST_COHORTS:
                self._cohorts.popitem(last=False)
        return tuple(line.entry(seat) for line in boxed)


def _unpack(line: ContributionRow) -> _Boxed:
    boxes = tuple(canonical.from_text(text) for text in canonical.parse(line.boxes or b"[]"))
    return _Boxed(line.header, boxes, merkle.Tree([merkle.leaf_hash(box) for box in boxes]))
