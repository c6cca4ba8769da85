"""Which records count: those of cells that the catalogue has, run with the settings that stand there now."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fgpr.experiments import convergence, demonstrations, theorems
from fgpr.experiments.catalogue import EXPERIMENTS
from fgpr.experiments.records import Record, no_record

_LENGTHS: Mapping[str, Mapping[str, int]] = {
    convergence.EXAMPLE1.name: dict.fromkeys(("noise", "theta"), convergence.ROUNDS + 1),
    convergence.EXAMPLE2.name: dict.fromkeys(("noise", "theta"), convergence.ROUNDS + 1),
    demonstrations.EXAMPLE3.name: {"curve": demonstrations.RECOVERY.rounds + 1},
    theorems.THEOREMS.name: {"noise": len(theorems.NOISE_ROUNDS), "gradient": len(theorems.GRADIENT_ROUNDS)},
}
"""By experiment and curve, how many values it has: one at the start and one after each round that is kept."""


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


def check_curves(records: Iterable[Record]) -> None:
    """Nothing, if the curves of all records that count can be laid over each other.

    Raises:
        DataError: one is longer or shorter than its experiment makes them, or has no logarithm; names its line.
    """
    for record in records:
        lengths = _LENGTHS.get(record.cell.experiment)
        if lengths and _counts(record):
            for name, length in lengths.items():
                if name in record.values:
                    _check_curve(record, name, length)


def _check_curve(record: Record, name: str, length: int) -> None:
    curve = record.values[name]
    if len(curve) != length:
        raise no_record(record.place, f"values.{name}: found {len(curve)} numbers, expected {length}")
    # Slopes are those of logarithms.
    if record.cell.experiment == theorems.THEOREMS.name and min(curve) <= 0.0:
        raise no_record(record.place, f"values.{name}: found {min(curve)}, expected numbers above 0")


def _counts(record: Record) -> bool:
    cell = record.cell
    experiment = EXPERIMENTS.get(cell.experiment)
    if experiment is None or cell.item not in experiment.items or cell.variant not in experiment.variants:
        return False
    return any(system.name == cell.system and system.settings == record.settings for system in experiment.systems)
