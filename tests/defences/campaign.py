"""The campaign: each defence is taken out of a copy of the tree, and the tests named for it have to fail."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from defences.defence import Defence
from mutants.tree import ROOT, Ran, Tree

BROKEN_OFF = "(pytest broke off)"


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
        RuntimeError: the tests fail with all defences in place.
    """
    with ExitStack() as stack, ThreadPoolExecutor(processes) as pool:
        first = stack.enter_context(Tree(folder / "0"))
        for postgresql in (False, True):
            _check_green(chosen, first, postgresql=postgresql)
        trees: SimpleQueue[Tree] = SimpleQueue()
        trees.put(first)
        for number in range(1, processes):
            trees.put(stack.enter_context(Tree(folder / str(number), like=first)))

        def judge(defence: Defence) -> Verdict:
            tree = trees.get()
            try:
                ran = tree.run(defence.path, defence.without(), defence.ids, postgresql=defence.postgresql)
            except RuntimeError as error:
                # The table asks for a program that does not start: no test has missed the defence.
                ran = Ran(False, BROKEN_OFF, str(error).strip().rpartition("\n")[2])
            finally:
                trees.put(tree)
            found = Verdict(defence, ran)
            on_verdict(found)
            return found

        return list(pool.map(judge, chosen))


def _check_green(chosen: Sequence[Defence], tree: Tree, *, postgresql: bool) -> None:
    tests = tuple(dict.fromkeys(test for one in chosen if one.postgresql is postgresql for test in one.ids))
    if not tests:
        return
    path = chosen[0].path
    ran = tree.run(path, (ROOT / path).read_text(encoding="utf-8"), tests, postgresql=postgresql)
    if ran.red:
        raise RuntimeError(f"{ran.test} is red with all defences in place: {ran.why}")
