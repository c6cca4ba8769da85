"""`make fuzz`: 300 generated requests to each operation in each way, and how many of them got which answer.

Exit status 1 where one was answered with 5xx, where one that has to be signed was taken unsigned, or where an answer
was not what the interface's description says. Further arguments are pytest's.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import REPORTS, Line, at_least, at_most, conclude
from fuzz.test_interface import RUNS

TESTS = Path(__file__).resolve().parents[1]
WAYS = ("signed", "unsigned, where a signature is needed", "unsigned, where none is")


def main(arguments: Sequence[str]) -> int:
    """Run, count, print, write the report; the worse of both exit statuses."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"FGPR_FUZZ_EXAMPLES": "300"} | os.environ | {"FGPR_FUZZ_COUNTS": folder}
        command = [sys.executable, "-m", "pytest", "-n", "2", str(TESTS / "fuzz"), *arguments]
        status = subprocess.run(command, env=environment, cwd=TESTS.parent, check=False).returncode
        found = [json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).iterdir()]
    counts = {way: Counter[int]() for way in WAYS}
    for one in found:
        way = WAYS[1] if one["refused"] else WAYS[2] if one["run"][-1] == "unsigned" else WAYS[0]
        counts[way] += Counter({int(code): count for code, count in one["statuses"].items()})
    table = Table("sent", title="Generated requests")
    for column in ("cases", "2xx and 3xx", "4xx", "5xx"):
        table.add_column(column, justify="right")
    for way, statuses in counts.items():
        table.add_row(way, *(f"{number:,}" for number in (statuses.total(), *_classes(statuses))))
    console.print(table)
    every = sum(counts.values(), Counter[int]())
    lines = [
        at_least("operations and ways fuzzed", len({tuple(one["run"]) for one in found} & RUNS), "runs", len(RUNS)),
        at_least("API fuzz cases", every.total(), "requests", 1),
        at_most("answered with 5xx", _classes(every)[2], "requests", 0),
        at_least("unsigned and refused with 401", counts[WAYS[1]][401], "requests", 1),
        at_most("unsigned and accepted where a signature is needed", _classes(counts[WAYS[1]])[0], "requests", 0),
        *(Line(f"{way}: cases", statuses.total(), "requests") for way, statuses in counts.items()),
        at_most("exit status of the tests", status, "status", 0),
    ]
    return conclude(console, lines, REPORTS / "fuzz.json") or status


def _classes(statuses: Counter[int]) -> tuple[int, int, int]:
    def of(low: int, high: int) -> int:
        return sum(count for status, count in statuses.items() if low <= status < high)

    return of(200, 400), of(400, 500), of(500, 600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
