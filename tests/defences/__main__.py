"""`make defences`: each defence of the threat model taken out once; its tests have to fail. Exit status 1 where not."""

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

from defences.campaign import Verdict, run
from defences.table import DEFENCES, ROWS
from mutants.tree import ROOT

REPORT = ROOT / "build" / "reports" / "defences.json"
WIDTH = 170


def main(arguments: Sequence[str] | None = None) -> int:
    """Try, print, write the report; 1 where a defence is not missed."""
    parser = argparse.ArgumentParser(prog="make defences", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all by default")
    parser.add_argument("--clause", default="", help="only those whose clause has this text")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=REPORT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row with defences: {', '.join(sorted(unknown))}")
    rows = options.rows or ROWS
    chosen = [one for one in DEFENCES if one.row in rows and options.clause in one.clause]
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with tempfile.TemporaryDirectory() as folder, Progress(*columns, console=console) as progress:
        task = progress.add_task("taking out", total=len(chosen))

        def told(verdict: Verdict) -> None:
            progress.advance(task)
            if not verdict.killed:
                progress.console.print(f"not missed: {verdict.defence.name}", style="red", markup=False)

        verdicts = run(chosen, Path(folder), options.processes, told)
    console.print(_table(verdicts))
    killed = sum(verdict.killed for verdict in verdicts)
    console.print(f"{killed} of {len(verdicts)} missed by their tests")
    if len(chosen) == len(DEFENCES):
        # A part of the campaign is no report of it.
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(json.dumps(_lines(verdicts), indent=1) + "\n", encoding="utf-8")
        console.print(f"{options.report}")
    return 0 if killed == len(verdicts) else 1


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table("row", "defence", "file", "killed by", "with", title="Defences taken out, one at a time")
    for verdict in verdicts:
        defence, ran = verdict.defence, verdict.ran
        by = f"[green]{ran.test}[/green]" if verdict.killed else f"[red]{ran.test or 'nothing'}[/red]"
        file = defence.file.removeprefix("services/").removeprefix("libs/")
        table.add_row(defence.row, defence.clause, file, by, ran.why[:60].replace("[", r"\["))
    return table


def _lines(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    lines = [
        {
            "name": verdict.defence.name,
            "value": verdict.ran.test or "nothing",
            "unit": "killed by",
            "target": "a test",
            "met": verdict.killed,
        }
        for verdict in verdicts
    ]
    for row in (*ROWS, ""):
        of_it = [verdict for verdict in verdicts if not row or verdict.defence.row == row]
        killed = sum(verdict.killed for verdict in of_it)
        lines.append(
            {
                "name": f"defences of row {row}" if row else "all defences",
                "value": killed,
                "unit": "killed",
                "target": f">= {len(of_it)}",
                "met": killed == len(of_it),
            }
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
