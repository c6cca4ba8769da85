import itertools

import pytest

from benchmarks.measure import MAX_TURNS, MIN_TURNS, disagreement, interleave
from benchmarks.problem import Answer


class Scripted:
    """Takes the seconds that it is told to, and writes down whose turn it was."""

    def __init__(self, name: str, turns: list[str], step: list[float], prediction: float | None) -> None:
        self.name = name
        self._turns = turns
        self._step = itertools.cycle(step)
        self._prediction = prediction

    def answer(self) -> None:
        return None

    def step(self, repeats: int) -> float:
        self._turns.append(f"{self.name} {repeats}")
        return next(self._step)

    def prediction(self, repeats: int) -> float | None:  # noqa: ARG002
        return self._prediction


def test_turns_are_interleaved_and_the_least_counts() -> None:
    turns: list[str] = []
    one = Scripted("one", turns, [1.0, 1.0, 9.0, 2.0, 3.0], 0.5)
    other = Scripted("other", turns, [0.001], None)
    timing = interleave([one, other], budget=0.0, clock=itertools.count(0.0).__next__)
    assert timing.step == {"one": 2.0, "other": 0.001}, "the first two calls warm up and set the repeats"
    assert timing.prediction == {"one": 0.5}
    assert turns == ["one 1", "other 1"] * 2 + ["one 1", "other 5"] * MIN_TURNS


def test_a_large_budget_ends_after_the_most_turns() -> None:
    turns: list[str] = []
    interleave([Scripted("one", turns, [0.5], None)], budget=1e9, clock=lambda: 0.0)
    assert len(turns) == MAX_TURNS + 2


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (Answer(-10.0, [1.0, 2.0], [1.0], [4.0]), 0.0),
        (Answer(-10.0, [1.2, 2.0], [1.0], [4.0]), 0.1),
        (Answer(-8.0, [1.0, 2.0], [1.0], [4.0]), 0.25),
        (Answer(-10.0, [1.0, 2.0], [1.0], [2.0]), 1.0),
    ],
)
def test_the_largest_relative_difference(theirs: Answer, expected: float) -> None:
    assert disagreement(Answer(-10.0, [1.0, 2.0], [1.0], [4.0]), theirs) == pytest.approx(expected)
