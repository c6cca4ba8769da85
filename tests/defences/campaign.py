"""The campaign: each defence is taken out of a copy of the tree, and the tests named for it have to fail."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from defences.defence import Defence
from mutants.tree import ROOT, Ran, Tree


@dataclass(frozen=True)
class Verdict:
    """What the tests said without one defence."""

    defence: Defence
    ran: Ran

    @property
    def killed(self) -> bool:
        """Whether one of them failed."""
        return self.ran.red


def run(
    chosen: Sequence[Defence], folder: Path, processes: int, on_verdict: Callable[[Verdict], None]
) -> list[Verdict]:
    """Take each defence out.

    Args:
        chosen: which.
        folder: for the copies.
        processes: how many run at once, each in its own copy.
        on_verdict: is told of each as it comes.

    Raises:
        RuntimeError: the tests fail with all defences in place, or pytest broke off.
    """
    made = [Tree(folder / str(number)) for number in range(processes)]
    trees: SimpleQueue[Tree] = SimpleQueue()
    for tree in made:
        trees.put(tree)

    def judge(defence: Defence, source: str, tests: Sequence[str], postgresql: bool) -> Ran:
        tree = trees.get()
        try:
            return tree.run(defence.path, source, tests, postgresql=postgresql)
        finally:
            trees.put(tree)

    def verdict(defence: Defence) -> Verdict:
        ran = judge(defence, defence.without(), defence.ids, defence.postgresql)
        found = Verdict(defence, ran)
        on_verdict(found)
        return found

    with ExitStack() as stack, ThreadPoolExecutor(processes) as pool:
        for tree in made:
            stack.enter_context(tree)
        # One after the other, so that each copy compiles what it has for all that follows.
        for _ in made:
            for postgresql in (False, True):
                _check_green(chosen, postgresql, judge)
        return list(pool.map(verdict, chosen))


def _check_green(
    chosen: Sequence[Defence], postgresql: bool, judge: Callable[[Defence, str, Sequence[str], bool], Ran]
) -> None:
    tests = tuple(dict.fromkeys(test for one in chosen if one.postgresql is postgresql for test in one.ids))
    if not tests:
        return
    whole = (ROOT / chosen[0].file).read_text(encoding="utf-8")
    ran = judge(chosen[0], whole, tests, postgresql)
    if ran.red:
        raise RuntimeError(f"{ran.test} is red with all defences in place: {ran.why}")
