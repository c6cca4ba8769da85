"""One line of the table that breaks the program ends neither the campaign nor counts as noticed by a test."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from defences import campaign
from defences.table import DEFENCES
from mutants.tree import ROOT, Ran

BREAKS, NOTICED = [one for one in DEFENCES if not one.postgresql][:2]


class _Tree:
    """What a tree's tests say, told beforehand: of the code as it is, without the first defence, without the second."""

    def __init__(self, folder: Path, like: Self | None = None) -> None:
        self.folder, self.like = folder, like

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def run(self, path: Path, source: str, tests: Iterable[str], *, postgresql: bool = False) -> Ran:
        assert set(tests) <= {*BREAKS.ids, *NOTICED.ids}
        assert not postgresql
        if source == (ROOT / path).read_text(encoding="utf-8"):
            return Ran(False)
        if path == BREAKS.path and source == BREAKS.without():
            raise RuntimeError("pytest broke off with 4: Traceback\nImportError: no such name\n")
        return Ran(True, "test_x", "AssertionError")


def test_a_defence_that_breaks_the_program_is_told_and_the_next_one_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "Tree", _Tree)
    told: list[campaign.Verdict] = []
    broken, noticed = campaign.run([BREAKS, NOTICED], tmp_path, 1, told.append)
    assert told == [broken, noticed]
    assert (broken.defence, noticed.defence) == (BREAKS, NOTICED)
    assert (broken.killed, broken.ran.test, broken.ran.why) == (
        False,
        campaign.BROKEN_OFF,
        "ImportError: no such name",
    )
    assert noticed.killed
