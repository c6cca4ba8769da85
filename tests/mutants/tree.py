"""A copy of what the tests need, in which one file at a time is another one."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]

LONGEST = 300.0
"""Seconds after which a run that has not ended counts as red: the mutant hangs."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (?:tests/)?(?P<test>[^\s\[]+)(?P<rest>.*)$", re.MULTILINE)


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
    """A copy of the tree, for one mutant at a time, and the interpreter that runs its tests.

    Args:
        folder: that holds it; made.
        like: another one, of which what it compiled is copied along.
    """

    def __init__(self, folder: Path, like: "Tree | None" = None) -> None:
        self._folder = folder
        if like is not None:
            shutil.copytree(like._folder, folder)
        else:
            # A server brings its schema up, and the table of roles is held against its page.
            for part in ("libs", "services", "migrations", "docs", "tests"):
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            shutil.copy(ROOT / "pyproject.toml", folder)
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "mutants.warm"],
            cwd=ROOT / "tests",
            env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """Let the interpreter go."""
        self._warm.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

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
        # What was compiled of it before may have its size and its second.
        for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*"):
            compiled.unlink()
        place.write_text(source, encoding="utf-8")
        try:
            return self._run(tests, postgresql=postgresql, keep=source == original)
        finally:
            place.write_text(original, encoding="utf-8")

    def _run(self, tests: Iterable[str], *, postgresql: bool, keep: bool) -> Ran:
        arguments = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
        arguments += [*([] if postgresql else ["-k", "not postgresql"]), *tests]
        asked = {
            "folder": str(self._folder),
            "path": [str(self._folder / part) for part in ("libs", "services", "tests")],
            "arguments": arguments,
            "seconds": LONGEST * (4 if keep else 1),
            "keep": keep,
        }
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        self._warm.stdin.write(json.dumps(asked) + "\n")
        self._warm.stdin.flush()
        answer = json.loads(self._warm.stdout.readline())
        status, told = answer["status"], answer["output"]
        if status is None:
            return Ran(True, "(a test)", f"not over after {LONGEST:.0f} s")
        found = _FAILED.search(told)
        # Once a test has failed, it does not count how what it left behind is taken down.
        if found is None and status not in (0, 1, 2):
            raise RuntimeError(f"pytest broke off with {status}: {told[-2000:]}")
        if found is None:
            return Ran(status != 0, "" if status == 0 else "(none)", told[-200:] if status else "")
        return Ran(True, found["test"], found["rest"].partition(" - ")[2])
