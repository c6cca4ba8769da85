"""docs/protocol.md says what the code says: its lists of checks are the docstrings', its diagram is the table's."""

import inspect
import re
from pathlib import Path
from textwrap import indent
from types import ModuleType

import pytest

from fgpr.secagg import checked_plan, member, stages
from fgpr.secagg.stages import TRANSITIONS, Event, Stage

PAGE = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")


def numbered(text: str) -> list[tuple[int, str]]:
    """The items of a numbered list, each on one line, with or without breaks in it."""
    items = re.findall(r"^(\d+)\.\s+(.+(?:\n +\S.*)*)", text, re.MULTILINE)
    return [(int(number), " ".join(item.split())) for number, item in items]


def between(start: str, end: str) -> str:
    _, _, rest = PAGE.partition(start)
    inside, found, _ = rest.partition(end)
    assert found, f"docs/protocol.md has no {start} or no {end} after it"
    return inside


@pytest.mark.parametrize(
    ("module", "name", "checks"), [(checked_plan, "plan-checks", 17), (member, "cohort-checks", 10)]
)
def test_the_page_lists_the_checks_word_for_word(module: ModuleType, name: str, checks: int) -> None:
    path = module.__name__.replace(".", "/")
    listed = numbered(between(f"<!-- {name}: tested against libs/{path}.py -->", "<!-- end -->"))
    assert listed == numbered(inspect.getdoc(module) or "")
    assert [number for number, _ in listed] == list(range(1, checks + 1))


def diagram() -> str:
    return between("## One round\n\n```\n", "\n```")


def test_the_diagram_is_the_table_s() -> None:
    drawn = diagram()
    assert {Stage[name] for name in re.findall(r"\b[A-Z]{2,}\b", drawn)} == set(Stage)
    assert {Event(name) for name in re.findall(r"--([a-z_]+)", drawn)} == {event for _, event in TRANSITIONS}
    assert indent(drawn, "    ") in (inspect.getdoc(stages) or "")


def test_each_arrow_with_both_ends_is_a_transition() -> None:
    first, *below = diagram().splitlines()
    words = re.findall(r"[A-Za-z_]+", first)
    arrows = list(zip(words[::2], words[1::2], words[2::2], strict=False))
    assert len(arrows) == 2
    assert [TRANSITIONS[Stage[at], Event(event)] for at, event, _ in arrows] == [Stage[to] for *_, to in arrows]
    # An arrow that turns down hangs under the stage that it leaves; all but the last end at ABORTED.
    spans = {Stage[found[0]]: range(*found.span()) for found in re.finditer(r"\b[A-Z]{2,}\b", first)}
    turning = [(found.start(), Event(found[1])) for row in below for found in re.finditer(r"\+-+([a-z_]+)-+\+", row)]
    assert len(turning) == 4
    for column, event in turning:
        (at,) = (stage for stage, span in spans.items() if column in span)
        assert TRANSITIONS[at, event] is (Stage.CARRIED if event is Event.STEP_REFUSED else Stage.ABORTED)
    assert len(turning) + len(arrows) + 2 == len(TRANSITIONS)
    # Below that, only arrows out of ABORTED have their target on the same line.
    settled = re.findall(r"--([a-z_]+)-*> ([A-Z]+)", "\n".join(below))
    assert {event: Stage[to] for event, to in settled} == {
        event.value: to for (at, event), to in TRANSITIONS.items() if at is Stage.ABORTED
    }
