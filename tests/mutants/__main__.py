"""`make mutants`: each check of the protocol deleted once, and the suite has to turn red. Exit status 1 where not."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mutants.campaign import ROOT, TESTS, Memory, Verdict, all_mutants, run

REPORT = ROOT / "build" / "reports" / "mutants.json"
MEMORY = ROOT / "build" / "mutants.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try, print, write the report; 1 where a mutant lives."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TESTS)}; all by default")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    unknown = set(options.modules) - set(TESTS)
    if unknown:
        parser.error(f"no module with checks: {', '.join(sorted(unknown))}")
    modules = options.modules or list(TESTS)
    console = Console()
    chosen = all_mutants(modules)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with tempfile.TemporaryDirectory() as folder, Progress(*columns, console=console) as progress:
        task = progress.add_task("deleting checks", total=len(chosen))

        def told(verdict: Verdict) -> None:
            progress.advance(task)
            if not verdict.killed:
                progress.console.print(f"[red]lives[/red] {verdict.mutant.name}", highlight=False, markup=True)

        verdicts = run(chosen, Memory(MEMORY), Path(folder), options.processes, told)
    console.print(_table(verdicts))
    killed = sum(verdict.killed for verdict in verdicts)
    console.print(f"{killed} of {len(verdicts)} killed")
    if not options.modules:
        # A part of the campaign is no report of it.
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(json.dumps(_lines(verdicts), indent=1) + "\n", encoding="utf-8")
        console.print(f"{options.report}")
    return 0 if killed == len(verdicts) else 1


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table("module", "checks deleted", "suite turned red", title="The checks of the protocol, each deleted once")
    for module in dict.fromkeys(verdict.mutant.module for verdict in verdicts):
        of_it = [verdict for verdict in verdicts if verdict.mutant.module == module]
        table.add_row(module, str(len(of_it)), str(sum(verdict.killed for verdict in of_it)))
    return table


def _lines(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {
            "name": verdict.mutant.name,
            "value": int(verdict.killed),
            "unit": "killed",
            "target": ">= 1",
            "met": verdict.killed,
        }
        for verdict in verdicts
    ]
    share = sum(verdict.killed for verdict in verdicts) / len(verdicts)
    return [*lines, {"name": "mutants killed", "value": share, "unit": "share", "target": ">= 1", "met": share == 1.0}]


if __name__ == "__main__":
    sys.exit(main())
