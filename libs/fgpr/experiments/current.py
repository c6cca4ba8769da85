"""Which records count: those of cells that the catalogue has, run with the settings that stand there now."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fgpr.experiments.catalogue import EXPERIMENTS
from fgpr.experiments.records import Record


class Sorted(NamedTuple):
    """Records by whether they count.

    Attributes:
        current: those that do.
        left_out: how many cells of which experiment have only records that do not.
    """

    current: list[Record]
    left_out: Counter[str]


def sort_out(records: Sequence[Record]) -> Sorted:
    """The records that count, and how many were left out: a mean over two settings would be that of neither."""
    current = [record for record in records if _counts(record)]
    left_out = {record.cell for record in records} - {record.cell for record in current}
    return Sorted(current, Counter(cell.experiment for cell in left_out))


def _counts(record: Record) -> bool:
    cell = record.cell
    experiment = EXPERIMENTS.get(cell.experiment)
    if experiment is None or cell.item not in experiment.items or cell.variant not in experiment.variants:
        return False
    return any(system.name == cell.system and system.settings == record.settings for system in experiment.systems)
