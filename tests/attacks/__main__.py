"""`make attack`: each attack on the protocol, in memory and over HTTP. Exit status 1 where one is not refused."""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from attacks.attack import CHANNELS, Attack
from attacks.table import ATTACKS

REPORT = Path(__file__).resolve().parents[2] / "build" / "reports" / "attack.json"
WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out, print, write the report; 1 where an attack is not refused."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    # What the aggregator under attack tells its operator is not part of the table.
    logging.disable(logging.CRITICAL)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    table = Table("row", "by", "attack", "expected refusal", *CHANNELS, title="Attacks on the protocol")
    lines: list[dict[str, Any]] = []
    for attack in track(ATTACKS, "attacking", console=console, disable=not sys.stdout.isatty()):
        results = {channel: _carry_out(attack, channel) for channel in attack.plays}
        lines += [_line(attack, channel, result) for channel, result in results.items()]
        expected = " / ".join(dict.fromkeys(attack.expected.values())) or attack.why_not
        table.add_row(
            attack.row, attack.by, attack.name, expected, *(_cell(attack, channel, results) for channel in CHANNELS)
        )
    console.print(table)
    refused = sum(line["met"] for line in lines)
    console.print(f"{refused} of {len(lines)} refused; {options.report}")
    lines.append(_total(refused, len(lines)))
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    return 0 if refused == len(lines) - 1 else 1


def _carry_out(attack: Attack, channel: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return attack.outcome(channel, Path(folder))
        except Exception as error:
            # A play that breaks off has shown nothing.
            return f"{type(error).__name__}: {error}"


def _cell(attack: Attack, channel: str, results: dict[str, str]) -> str:
    if channel not in results:
        return "not tried" if attack.plays else "not promised"
    if results[channel] == attack.expected[channel]:
        return "[green]refused[/green]"
    return f"[red]{results[channel]}[/red]"


def _line(attack: Attack, channel: str, result: str) -> dict[str, Any]:
    met = result == attack.expected[channel]
    name = f"{attack.row} {attack.by}: {attack.name} ({channel})"
    return {"name": name, "value": result, "unit": "outcome", "target": attack.expected[channel], "met": met}


def _total(refused: int, tried: int) -> dict[str, Any]:
    return {
        "name": "attacks refused",
        "value": refused,
        "unit": "attacks",
        "target": f">= {tried}",
        "met": refused == tried,
    }


if __name__ == "__main__":
    sys.exit(main())
