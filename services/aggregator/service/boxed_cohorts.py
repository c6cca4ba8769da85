"""Closed cohorts written down for their members, each of whom asks for its own box of every contribution.

The text of an entry is put together from parts that are made once a cohort: 140 members of 500 clients get 70,000 of
them. Only a cache: what is in it was read from the database, and a process that starts anew reads it again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from aggregator.storage.contributions import ContributionRow
from fgpr import canonical, merkle
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort

MOST_COHORTS = 4
"""Cohorts that are kept; a federation has one at a time."""


@dataclass(frozen=True, repr=False)
class _Boxed:
    """One contribution: its signed header as JSON, its boxes in base64 in seat order, their tree, and hashes of it."""

    header: str
    boxes: list[str]
    tree: merkle.Tree
    hashes: dict[tuple[int, int], str] = field(default_factory=dict)

    def entry(self, seat: int, ranges: tuple[tuple[int, int], ...]) -> str:
        """A `CohortEntry` as JSON."""
        path = ",".join([self.hashes.get(one) or self._hash(one) for one in ranges])
        return f'{{"header":{self.header},"box":"{self.boxes[seat - 1]}","path":[{path}]}}'

    def _hash(self, leaves: tuple[int, int]) -> str:
        text = f'"{canonical.to_text(merkle.range_hash(*leaves, self.tree.node))}"'
        self.hashes[leaves] = text
        return text


@dataclass(frozen=True, repr=False)
class _Written:
    cohort: str
    boxed: list[_Boxed]


class BoxedCohorts:
    """The newest cohorts of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cohorts: OrderedDict[bytes, _Written] = OrderedDict()

    def forget(self) -> None:
        """Let go of every cohort: one has ended, and its boxes are erased."""
        with self._lock:
            self._cohorts.clear()

    def view(self, signed: Signed[Cohort], seat: int, read: Callable[[], list[ContributionRow]]) -> bytes:
        """What the member in `seat` gets, a `CohortView` as JSON; the entries stand in the cohort's order.

        Args:
            signed: a closed cohort.
            seat: 1 to c.
            read: gives the round's contributions; called where this cohort is not kept.
        """
        digest = signed.message.digest()
        # Under the lock: many members ask at once, and unpacking is the work of one.
        with self._lock:
            written = self._cohorts.get(digest)
            if written is None:
                counted = signed.message.clients()
                boxed = [_unpack(line) for line in read() if line.client in counted]
                written = self._cohorts[digest] = _Written(signed.model_dump_json(), boxed)
            self._cohorts.move_to_end(digest)
            while len(self._cohorts) > MOST_COHORTS:
                self._cohorts.popitem(last=False)
        ranges = merkle.inclusion_ranges(seat - 1, len(written.boxed[0].boxes)) if written.boxed else ()
        entries = ",".join([line.entry(seat, ranges) for line in written.boxed])
        return f'{{"cohort":{written.cohort},"entries":[{entries}]}}'.encode("ascii")


def _unpack(line: ContributionRow) -> _Boxed:
    boxes: list[str] = canonical.parse(line.boxes or b"[]")
    tree = merkle.Tree([merkle.leaf_hash(canonical.from_text(box)) for box in boxes])
    return _Boxed(line.header.model_dump_json(), boxes, tree)
