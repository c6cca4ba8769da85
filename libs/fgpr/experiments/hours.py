"""CPU hours of the evaluation: those that its records took, and those of a full run, by experiment."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fgpr.experiments.experiment import Experiment
from fgpr.experiments.records import Record

_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Hours:
    """What an experiment costs.

    Attributes:
        so_far: CPU hours of its records, failed ones among them.
        in_full: CPU hours of all cells that the catalogue asks for: of each system and variant their number times the
            mean of those that were run.
        unknown: cells of systems and variants of which none was run; they are not in `in_full`.
    """

    so_far: float
    in_full: float
    unknown: int


def hours_of(experiment: Experiment, records: Iterable[Record]) -> Hours:
    """The CPU hours of one experiment.

    Args:
        experiment: the one.
        records: of any experiment, with its present settings.
    """
    own = [record for record in records if record.cell.experiment == experiment.name]
    seconds: dict[tuple[str, str], list[float]] = {}
    for record in own:
        # What failed may have ended at once.
        if record.error is None:
            seconds.setdefault((record.cell.system, record.cell.variant), []).append(record.seconds)
    wanted = Counter((cell.system, cell.variant) for cell in experiment.cells(experiment.repeats))
    return Hours(
        sum(record.seconds for record in own) / _SECONDS,
        sum(count * float(np.mean(seconds[kind])) for kind, count in wanted.items() if kind in seconds) / _SECONDS,
        sum(count for kind, count in wanted.items() if kind not in seconds),
    )


def words_of_hours(experiments: Iterable[Experiment], records: Sequence[Record]) -> list[str]:
    """A table of the hours so far and in full, in Markdown."""
    found = {experiment.name: hours_of(experiment, records) for experiment in experiments}
    whole = Hours(
        sum(one.so_far for one in found.values()),
        sum(one.in_full for one in found.values()),
        sum(one.unknown for one in found.values()),
    )
    return [
        "In full: of each system and variant the runs that the catalogue asks for, times the mean of its runs so far.",
        "",
        "| CPU hours | so far | in full |",
        "|---|---|---|",
        *(_row(name, one) for name, one in found.items()),
        _row("all", whole),
        "",
    ]


def _row(name: str, hours: Hours) -> str:
    in_full = f"{hours.in_full:.2f}" if hours.in_full else "not known yet"
    if hours.in_full and hours.unknown:
        in_full += f", without {hours.unknown} runs whose system and variant has no run yet"
    return f"| {name} | {hours.so_far:.2f} | {in_full} |"
