"""`make proofs`: every proof of every tree up to 300 leaves, and every single-bit forgery of each. Exit 1 on a miss."""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from proofs.forgeries import Count, of_size

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build" / "reports" / "proofs.json"
LARGEST = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Try, print, write the report; 1 where an honest proof is refused or a forgery accepted."""
    parser = argparse.ArgumentParser(prog="make proofs", description=__doc__)
    parser.add_argument("--largest", type=int, default=LARGEST, help="leaves of the largest tree")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    console, total = Console(), Count()
    # The largest first, so that none of the processes is left with them at the end.
    sizes = range(options.largest, 0, -1)
    with ProcessPoolExecutor(options.processes) as pool:
        for count in track(pool.map(of_size, sizes), "trees", len(sizes), console=console):
            total.add(count)
    table = Table(
        "", "tried", "wrong", title=f"Inclusion and consistency proofs of trees of 1 to {options.largest} leaves"
    )
    table.add_row("honest proofs", f"{total.proofs:,}", f"{total.refused} refused")
    table.add_row("with one bit turned over", f"{total.forgeries:,}", f"{total.accepted} accepted")
    console.print(table)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(_lines(total), indent=1) + "\n", encoding="utf-8")
    console.print(f"{options.report}")
    return 0 if total.refused == total.accepted == 0 else 1


def _lines(total: Count) -> list[dict[str, Any]]:
    return [
        {"name": "honest proofs", "value": total.proofs, "unit": "proofs", "target": ">= 1", "met": total.proofs > 0},
        {
            "name": "honest proofs refused",
            "value": total.refused,
            "unit": "proofs",
            "target": "<= 0",
            "met": total.refused == 0,
        },
        {"name": "forgeries", "value": total.forgeries, "unit": "proofs", "target": ">= 1", "met": total.forgeries > 0},
        {
            "name": "forgeries accepted",
            "value": total.accepted,
            "unit": "proofs",
            "target": "<= 0",
            "met": total.accepted == 0,
        },
    ]


if __name__ == "__main__":
    sys.exit(main())
