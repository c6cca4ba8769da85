"""What one run of one system says, as a line of JSON: enough to run it again, and to know whether it has to be."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from fgpr.errors import DataError
from fgpr.experiments.fields import fault_of

PACKAGES = ("fgpr", "numpy", "scipy", "torch", "gpytorch")


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a seed of a system on an item of an experiment.

    Attributes:
        experiment: its name on the command line.
        item: what is learned, such as a problem or a sensor.
        variant: such as the design or the split; empty where there is one alone.
        system: what learns it.
        seed: of everything random.
    """

    experiment: str
    item: str
    variant: str
    system: str
    seed: int


@dataclass(frozen=True, slots=True)
class Record:
    """A cell that was run.

    Attributes:
        cell: that was run.
        settings: of the system.
        values: by name: numbers, words, lists of numbers.
        seconds: CPU seconds of the process that ran it.
        versions: of Python and of the packages that compute.
        error: why there are no values; None where there are.
        place: the file and the line that it was read from; empty where it was run just now.
    """

    cell: Cell
    settings: Mapping[str, Any]
    values: Mapping[str, Any]
    seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    place: str = field(default="", compare=False)

    @property
    def line(self) -> str:
        """As JSON, without a line's end."""
        cell = self.cell
        whole = {
            "experiment": cell.experiment,
            "item": cell.item,
            "variant": cell.variant,
            "system": cell.system,
            "seed": cell.seed,
            "values": dict(self.values),
            "settings": dict(self.settings),
            "seconds": round(self.seconds, 3),
            "versions": dict(self.versions),
        }
        return json.dumps(whole | ({"error": self.error} if self.error else {}), sort_keys=True)

    @classmethod
    def from_line(cls, line: str, place: str) -> "Record":
        """The record that a line holds.

        Raises:
            DataError: not such a line; names the place, the field, and what was found there.
        """
        try:
            whole = json.loads(line)
        except json.JSONDecodeError as error:
            raise no_record(place, f"no JSON: {error.msg} at character {error.pos + 1}") from error
        except (ValueError, RecursionError) as error:
            raise no_record(place, f"no JSON that can be read here: {error}") from error
        if fault := fault_of(whole):
            raise no_record(place, fault)
        return cls(
            Cell(whole["experiment"], whole["item"], whole["variant"], whole["system"], whole["seed"]),
            whole["settings"],
            whole["values"],
            whole["seconds"],
            whole["versions"],
            whole.get("error"),
            place,
        )


def no_record(place: str, fault: str) -> DataError:
    """The refusal of a line; what it stood for is run again when it is gone."""
    return DataError(f"{place}: no record of an experiment: {fault}; delete the line to go on")


def rounded(values: Iterable[float], digits: int = 6) -> list[float]:
    """Values with so many significant digits: curves in records are for pictures and slopes, and files stay small."""
    return [float(f"{value:.{digits}g}") for value in values]


def versions() -> dict[str, str]:
    """Of Python and of those of `PACKAGES` that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def read_records(paths: Iterable[Path]) -> list[Record]:
    """All records of some files; of a cell and its settings that come twice the last one without an error counts.

    A last line without its end was cut off when its writer was killed, and is left out.

    Raises:
        DataError: a line is no record, or a file is no text.
    """
    found: dict[tuple[Cell, str], Record] = {}
    for path in paths:
        if not path.is_file():
            continue
        try:
            *whole, _cut = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: no text in UTF-8, so no records: {error.reason} at byte {error.start}") from error
        for number, line in enumerate(whole, start=1):
            if line.strip():
                record = Record.from_line(line, f"{path}, line {number}")
                run = record.cell, _in_order(record.settings)
                if record.error is None or run not in found:
                    found[run] = record
    return list(found.values())


def remaining(cells: Sequence[Cell], settings: Mapping[str, Mapping[str, Any]], done: Iterable[Record]) -> list[Cell]:
    """The cells that have no record of the same settings without an error.

    Args:
        cells: that are wanted.
        settings: by system.
        done: what there is.
    """
    finished = {(record.cell, _in_order(record.settings)) for record in done if record.error is None}
    wanted = {system: _in_order(values) for system, values in settings.items()}
    return [cell for cell in cells if (cell, wanted[cell.system]) not in finished]


def _in_order(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)
