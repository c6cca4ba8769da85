"""The launcher's own parts: task files, and the step at which an agent dies. Whole agents run in tests/e2e."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent.api import Api
from client_agent.events import Event, Kind
from demo import agent_process
from demo.agent_process import AgentTask, read_tasks, write_tasks
from demo.fates import Fate
from demo.observation import Notebook

TASKS = [
    AgentTask("homes/a", "fgpr1.secret", "a.csv", "notebook", {3: Fate.BEFORE_OPENING.value, 12: "x"}),
    AgentTask("homes/b", "fgpr1.other", "b.csv", "notebook", {}),
]


class Died(Exception):
    """In place of the end of the process."""


def die() -> None:
    raise Died


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_process, "_die", die)


def test_tasks_come_back_with_their_rounds_as_numbers(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.json", TASKS)
    assert read_tasks(tmp_path / "tasks.json") == TASKS


def test_only_the_owner_reads_the_tickets(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.json", TASKS)
    assert stat.S_IMODE((tmp_path / "tasks.json").stat().st_mode) == 0o600


def test_writing_again_replaces_all_of_it(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.json", TASKS)
    write_tasks(tmp_path / "tasks.json", TASKS[1:])
    assert read_tasks(tmp_path / "tasks.json") == TASKS[1:]


@pytest.mark.usefixtures("mortal")
def test_an_agent_trains_and_dies_before_its_contribution_is_written(tmp_path: Path) -> None:
    present, notebook = agent_process._Round(), Notebook(tmp_path)
    observer = agent_process._Observer(notebook, "a", {2: Fate.BEFORE_CONTRIBUTION}, present)
    present.on_event(event(1))
    observer(np.array([1.0, 2.0, 3.0]), 10)
    assert notebook.exact_average(1, ["a"]).tolist() == [1.0, 2.0, 3.0]
    present.on_event(event(2))
    with pytest.raises(Died):
        observer(np.array([1.0, 2.0, 3.0]), 10)
    # Nobody can hold a prior against a contribution that was never sent.
    assert [path.name for path in tmp_path.iterdir()] == ["000001-a.json"]


@pytest.mark.usefixtures("mortal")
def test_other_fates_let_it_write(tmp_path: Path) -> None:
    present = agent_process._Round(2)
    for fate in (Fate.AFTER_CONTRIBUTION, Fate.BEFORE_OPENING):
        agent_process._Observer(Notebook(tmp_path), "a", {2: fate}, present)(np.array([1.0]), 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_round_is_the_newest_that_was_heard_of(capsys: pytest.CaptureFixture[str]) -> None:
    present = agent_process._Round()
    for number in (1, 3, 2, 0):
        present.on_event(event(number))
    assert present.number == 3
    assert capsys.readouterr().err.splitlines()[1] == "2031-03-09T12:00:00.000+00:00 3 checked a plan"


def event(number: int) -> Event:
    return Event(Kind.CHECKED, datetime(2031, 3, 9, 12, tzinfo=UTC), number, "a plan")


@pytest.fixture
def fateful(monkeypatch: pytest.MonkeyPatch) -> tuple[agent_process._FatefulApi, list[str]]:
    """A connection to nowhere, and what it was asked for."""
    monkeypatch.setattr(agent_process, "_die", die)
    asked: list[str] = []
    monkeypatch.setattr(Api, "get", lambda _self, path, _params=None: asked.append(f"GET {path}") or b"{}")
    monkeypatch.setattr(Api, "put", lambda _self, path, _body: asked.append(f"PUT {path}") or b"{}")
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    return agent_process._FatefulApi("http://127.0.0.1:9", "demo", key), asked


def test_it_dies_right_after_its_contribution_was_acknowledged(
    fateful: tuple[agent_process._FatefulApi, list[str]],
) -> None:
    api, asked = fateful
    api.fates = {2: Fate.AFTER_CONTRIBUTION}
    assert api.put("rounds/1/contributions/a", b"{}") == b"{}"
    with pytest.raises(Died):
        api.put("rounds/2/contributions/a", b"{}")
    # The request went out: the aggregator has the contribution.
    assert asked == ["PUT rounds/1/contributions/a", "PUT rounds/2/contributions/a"]
    assert api.put("rounds/2/openings/a", b"{}") == b"{}"
    assert api.get("rounds/2/cohort") == b"{}"


def test_it_dies_with_the_cohort_in_hand_before_it_opens(
    fateful: tuple[agent_process._FatefulApi, list[str]],
) -> None:
    api, asked = fateful
    api.fates = {2: Fate.BEFORE_OPENING}
    assert api.put("rounds/2/contributions/a", b"{}") == b"{}"
    assert api.get("rounds/current") == b"{}"
    assert api.get("rounds/21/cohort") == b"{}"
    with pytest.raises(Died):
        api.get("rounds/2/cohort")
    assert asked[-1] == "GET rounds/2/cohort"


def test_without_fates_nobody_dies(fateful: tuple[agent_process._FatefulApi, list[str]]) -> None:
    api, _ = fateful
    assert api.get("rounds/1/cohort") == b"{}"
    assert api.put("rounds/1/contributions/a", b"{}") == b"{}"
