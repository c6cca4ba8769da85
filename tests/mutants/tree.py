"""A copy of what the tests need, in which one file at a time is another one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LONGEST = 300.0
"""Seconds after which a run that has not ended counts as red: the mutant hangs."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (?:tests/)?(?P<test>\S+?)(?:\[[^]]*\])*(?: - (?P<why>.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Ran:
    """What the tests said.

    Attributes:
        red: whether one of them failed.
        test: the first that did, without its parameters; empty where none did.
        why: the first line of its failure.
    """

    red: bool
    test: str = ""
    why: str = ""


class Tree:
    """A copy of the tree, for one mutant at a time.

    Args:
        folder: that holds it; made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # A server brings its schema up, and the table of roles is held against its page.
        for part in ("libs", "services", "migrations", "docs", "tests"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def run(self, path: Path, source: str, tests: Iterable[str], *, postgresql: bool = False) -> Ran:
        """What these tests say while the file has this source.

        Args:
            path: of the file, from the top of the tree.
            source: its text.
            tests: paths or ids, from the top of the tree.
            postgresql: on PostgreSQL too; elsewhere one database tells as much as two.

        Raises:
            RuntimeError: pytest broke off.
        """
        place = self._folder / path
        original = place.read_text(encoding="utf-8")
        place.write_text(source, encoding="utf-8")
        try:
            return self._run(tests, postgresql=postgresql)
        finally:
            place.write_text(original, encoding="utf-8")

    def _run(self, tests: Iterable[str], *, postgresql: bool) -> Ran:
        # No compiled files: a mutant of the same size and second would be taken for the one before.
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(str(self._folder / part) for part in ("libs", "services", "tests")),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += [*([] if postgresql else ["-k", "not postgresql"]), *tests]
        try:
            done = subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return Ran(True, why=f"not over after {LONGEST:.0f} s")
        told = done.stdout.decode(errors="replace")
        if done.returncode not in (0, 1, 2):
            raise RuntimeError(f"pytest broke off with {done.returncode}: {told[-2000:]}")
        found = _FAILED.search(told)
        if found is None:
            return Ran(done.returncode != 0)
        return Ran(True, found["test"], found["why"] or "")
