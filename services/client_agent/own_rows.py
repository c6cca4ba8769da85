"""An owner's rows as a model takes them: columns by its names, in its units, within its ranges, none with a hole.

What is left out is counted and told, never dropped in silence: the number of rows that stay is the weight that counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from client_agent import own_units
from client_agent.agent_toml import AgentToml, Column, OutOfRange
from client_agent.datafile import FloatArray, IntArray
from client_agent.intake import Table, check_names, nearest, read_table, spell_units
from fgpr.errors import DataError
from fgpr.gp.model import Feature, ModelSpec

ROUNDING = 1e-9
"""How far beyond a limit, in shares of the range, a converted value still counts as the limit."""


@dataclass(frozen=True)
class Report:
    """What became of a file's rows.

    Attributes:
        file: the file, with its format.
        read: rows of the unit, or of the file.
        used: rows that stay.
        missing: rows without a value, by the federation's name; a row with two holes counts for both.
        out_of_range: rows outside a feature's range, by its name.
        dropped_missing, dropped_out_of_range: rows dropped for the one and for the other.
        converted: what was done to columns in other units, by the federation's name.
        columns: the owner's column of each of the federation's names.
        others: columns that were not used, with the reason.
        unfinished: a last line without its line end waits for the next round.
        units: how many units the rows are of, where nobody named one and a column tells them apart; else 0.
    """

    file: str
    read: int
    used: int
    missing: dict[str, int] = field(default_factory=dict)
    out_of_range: dict[str, int] = field(default_factory=dict)
    dropped_missing: int = 0
    dropped_out_of_range: int = 0
    converted: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    unfinished: bool = False
    units: int = 0

    @property
    def doubtful(self) -> bool:
        """More rows were out of range than stay."""
        return self.dropped_out_of_range > self.used

    def lines(self) -> list[str]:
        """What is told of it, a sentence a line."""
        told = [f"{self.file}: {self.used} of {self.read} rows are used"]
        if self.dropped_missing:
            told.append(f"dropped {self.dropped_missing} rows without a value ({_counts(self.missing)})")
        if self.dropped_out_of_range:
            told.append(f"dropped {self.dropped_out_of_range} rows out of range ({_counts(self.out_of_range)})")
        if self.doubtful:
            told.append("more rows are out of range than in it: are columns and units the right ones?")
        if self.units > 1:
            told.append(
                f"rows of {self.units} units are taken for those of one: --unit, or unit in agent.toml, names one"
            )
        told += [f"{name} converted from {how}" for name, how in self.converted.items()]
        if self.unfinished:
            told.append("the last line has no line end, so it may be half of one: it waits for the next round")
        return told


def read(
    spec: ModelSpec,
    path: Path,
    settings: AgentToml,
    *,
    unit: int | None = None,
    target: str | None = None,
) -> tuple[dict[str, FloatArray], Report]:
    """The rows of a file that a model can be trained with.

    Args:
        spec: the federation's model.
        path: the file.
        settings: of the owner.
        unit: take the rows of this unit only; else as the settings say.
        target: the owner's column of the target; else as the settings say.

    Returns:
        Columns by the federation's names, each of shape (rows used,), in its units; and what became of the rest.

    Raises:
        DataError: the file cannot be read; a name of the settings is none of the model's; a column is missing; a unit
            is unknown or does not fit; a value is infinite; rows are out of range where that is refused; no row stays.
    """
    own = columns_of(spec, settings, target)
    unit = settings.data.unit if unit is None else unit
    needed = {column.column or name for name, column in own.items()}
    wanted = needed | ({"unit"} if unit is not None else set())
    table = read_table(path, settings.data.holes, wanted, settings.data.growing)
    check_names(path, [*table.columns, *table.others], sorted(wanted))
    _check_numeric(path, table, wanted)
    rows = _rows_of(path, table, unit)
    raw = {name: table.columns[column.column or name][rows] for name, column in own.items()}
    holes = {name: np.isnan(column) for name, column in raw.items()}
    if unit is not None:
        holes["unit"] = np.isnan(table.columns["unit"][rows])
    whole = ~np.any(list(holes.values()), axis=0)
    kept = {name: column[whole] for name, column in raw.items()}
    kept, converted = _convert(spec, kept, own)
    places = [table.places[row] for row in rows[whole]]
    outside = {each.name: _outside(each, kept, each.name in converted) for each in spec.features}
    inside = ~np.any(list(outside.values()), axis=0)
    _check_range(path, spec, kept, outside, places, table.place, settings.data.out_of_range)
    report = Report(
        file=f"{path} ({table.format})",
        read=int(rows.size),
        used=int(inside.sum()),
        missing={name: int(hole.sum()) for name, hole in holes.items() if hole.any()},
        out_of_range={name: int(out.sum()) for name, out in outside.items() if out.any()},
        dropped_missing=int((~whole).sum()),
        dropped_out_of_range=int((~inside).sum()),
        converted=converted,
        columns={name: column.column or name for name, column in own.items()},
        others=table.others | {name: "not needed" for name in table.columns if name not in wanted},
        unfinished=table.unfinished,
        units=0 if "unit" in wanted or "unit" not in table.columns else np.unique(table.columns["unit"]).size,
    )
    if not report.used:
        raise DataError(f"{path}: no row is left. {'; '.join(report.lines()[1:])}")
    return {name: column[inside] for name, column in kept.items()}, report


def inputs(spec: ModelSpec, path: Path, settings: AgentToml) -> dict[str, FloatArray]:
    """The inputs of a file that somebody wants predictions at: as `read` maps and converts, and nothing is left out.

    Args:
        spec: the federation's model.
        path: the file; a column of the target is not needed.
        settings: of the owner.

    Returns:
        The features by name, each of shape (rows,), in the federation's units.

    Raises:
        DataError: as `read`; also a cell without a value.
    """
    own = {name: column for name, column in columns_of(spec, settings).items() if name in spec.feature_names}
    wanted = {column.column or name for name, column in own.items()}
    table = read_table(path, only=wanted)
    check_names(path, [*table.columns, *table.others], sorted(wanted))
    _check_numeric(path, table, wanted)
    found, converted = _convert(spec, {name: table.columns[column.column or name] for name, column in own.items()}, own)
    for feature in spec.features:
        _outside(feature, found, feature.name in converted)
    return found


def count(path: Path, settings: AgentToml, unit: int | None = None) -> int:
    """How many rows of a file count, as far as the settings say it before the model is known.

    A row counts that is whole in the columns that [columns] names; in all columns where it names none.

    Args:
        path: the file.
        settings: of the owner.
        unit: count the rows of this unit only; else as the settings say.

    Raises:
        DataError: the file cannot be read, a column is missing or holds no numbers, or no row counts.
    """
    unit = settings.data.unit if unit is None else unit
    named = {column.column or name for name, column in settings.columns.items()}
    wanted = named | ({"unit"} if unit is not None else set())
    table = read_table(path, settings.data.holes, wanted if named else None, settings.data.growing)
    check_names(path, [*table.columns, *table.others], sorted(wanted))
    _check_numeric(path, table, wanted)
    rows = _rows_of(path, table, unit)
    needed = wanted if named else set(table.columns)
    whole = ~np.any([np.isnan(table.columns[name][rows]) for name in sorted(needed)], axis=0)
    if not whole.any():
        raise DataError(
            f"{path}: none of {rows.size} rows is whole in {', '.join(sorted(needed)[:30])}: name your columns under "
            "[columns] in agent.toml, and others may be empty"
        )
    return int(whole.sum())


def columns_of(spec: ModelSpec, settings: AgentToml, target: str | None = None) -> dict[str, Column]:
    """The owner's column of each feature and of the target, by the federation's names.

    Raises:
        DataError: the settings name something that the model does not have, or one column for two of its names.
    """
    names = [*spec.feature_names, spec.target.name]
    for name in settings.columns:
        if name not in names:
            raise DataError(
                f"agent.toml: [columns.{name}] is neither a feature nor the target of the federation"
                f"{nearest(name, names)}; those are {', '.join(names)}"
            )
    own = {name: settings.columns.get(name, Column()) for name in names}
    if target is not None:
        own[spec.target.name] = Column(column=target, unit=own[spec.target.name].unit)
    taken: dict[str, str] = {}
    for name, column in own.items():
        first = taken.setdefault(column.column or name, name)
        if first != name:
            raise DataError(
                f"your column {column.column or name!r} would be both {first} and {name}: look at 'from' under "
                "[columns] in agent.toml, and at --target"
            )
    return own


def _rows_of(path: Path, table: Table, unit: int | None) -> IntArray:
    """Indices of the rows of a unit, with those that name none: they are counted as rows with a hole."""
    if unit is None:
        return np.arange(len(table.places))
    units = table.columns["unit"]
    if not (units == unit).any():
        raise DataError(f"{path}: no row of unit {unit}; there are {spell_units(units)}")
    return np.flatnonzero((units == unit) | np.isnan(units))


def _check_numeric(path: Path, table: Table, wanted: set[str]) -> None:
    for name in sorted(wanted):
        if name not in table.columns:
            raise DataError(f"{path}: column {name!r} {table.others[name]}")


def _convert(
    spec: ModelSpec, columns: Mapping[str, FloatArray], own: Mapping[str, Column]
) -> tuple[dict[str, FloatArray], dict[str, str]]:
    units = {each.name: each.unit for each in spec.features} | {spec.target.name: spec.target.unit}
    converted: dict[str, FloatArray] = {}
    told: dict[str, str] = {}
    for name, values in columns.items():
        unit = own[name].unit or units[name]
        converted[name] = own_units.convert(values, own[name].column or name, unit, units[name])
        if unit != units[name]:
            told[name] = own_units.explain(unit, units[name])
    return converted, told


def _outside(feature: Feature, columns: dict[str, FloatArray], converted: bool) -> np.ndarray:
    """Which rows are out of a feature's range; what rounding carried beyond a limit is put back to it."""
    values = columns[feature.name]
    if converted:
        near = np.clip(values, feature.lower, feature.upper)
        values = np.where(np.abs(values - near) <= ROUNDING * feature.range, near, values)
        columns[feature.name] = values
    return (values < feature.lower) | (values > feature.upper)


def _check_range(
    path: Path,
    spec: ModelSpec,
    columns: Mapping[str, FloatArray],
    outside: Mapping[str, np.ndarray],
    places: list[int],
    place: str,
    rule: OutOfRange,
) -> None:
    if rule == "drop":
        return
    for feature in spec.features:
        rows: IntArray = np.flatnonzero(outside[feature.name])
        if rows.size:
            first = int(rows[0])
            raise DataError(
                f"{path}, {place} {places[first]}: {feature.name} is {columns[feature.name][first]:g} {feature.unit}, "
                f"outside {feature.lower:g} to {feature.upper:g} {feature.unit}; {rows.size} such rows, and "
                "agent.toml says out_of_range = 'refuse'"
            )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
