"""What a target that measures leaves behind: lines with their targets, in `build/reports`, and an exit status."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "build" / "reports"


@dataclass(frozen=True)
class Line:
    """One line of the report.

    Attributes:
        name: what was measured.
        value: how much of it; None where it was not measured.
        unit: of the value.
        target: such as ">= 10"; None for a number that is only told.
        met: None without a target, and where nobody asked for what was not measured.
    """

    name: str
    value: float | None
    unit: str
    target: str | None = None
    met: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """As the report holds it."""
        return asdict(self)


def at_least(name: str, value: float, unit: str, least: float) -> Line:
    """A line whose value must not be lower."""
    return Line(name, value, unit, f">= {least:g}", value >= least)


def at_most(name: str, value: float, unit: str, most: float) -> Line:
    """A line whose value must not be higher."""
    return Line(name, value, unit, f"<= {most:g}", value <= most)


def not_measured(name: str, unit: str, least: float, asked: bool) -> Line:
    """A line whose value must not be lower and is not there: missed, unless nobody asked for it."""
    return Line(name, None, unit, f">= {least:g}", met=False if asked else None)


def conclude(console: Console, lines: Sequence[Line], path: Path) -> int:
    """Write the report and tell what was missed; 1 where anything was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([line.to_json() for line in lines], indent=1) + "\n", encoding="utf-8")
    judged = [line for line in lines if line.met is not None]
    missed = [line for line in judged if not line.met]
    for line in missed:
        told = "not measured" if line.value is None else f"{line.value:.4g} {line.unit}"
        console.print(f"[red]missed[/red] {line.name}: {told}, target {line.target}")
    left_out = sum(line.value is None and line.met is None for line in lines)
    without = f"; {left_out} not measured" if left_out else ""
    console.print(f"{len(judged) - len(missed)} of {len(judged)} targets met{without}; {path}")
    return 1 if missed else 0
