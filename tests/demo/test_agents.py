"""Who is started again, with processes that end at once or stay, in place of agents."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo import agents
from demo.agent_process import AgentTask, read_tasks
from demo.agents import AgentProcesses

STAYS = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
DIES = "import sys; sys.stdin.read()"
"""Ends as soon as it is let go."""


class Stage:
    """Starts tiny programs in place of agents, and remembers what was started."""

    def __init__(self) -> None:
        self.programs = {"000": DIES, "001": STAYS}
        self.started: list[str] = []
        self.running: list[subprocess.Popen[bytes]] = []
        self.commands: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self._real = subprocess.Popen

    def popen(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        name = Path(command[-1]).stem
        self.commands.append(command)
        self.environments.append(options["env"])
        process: subprocess.Popen[bytes] = self._real([sys.executable, "-I", "-c", self.programs[name]], **options)
        self.started.append(name)
        self.running.append(process)
        return process

    def await_deaths(self) -> None:
        """Until every program that ends by itself and was let go has ended."""
        for name, process in zip(self.started, self.running, strict=True):
            if self.programs[name] == DIES and process.stdin is not None and process.stdin.closed:
                process.wait(60)

    def waiting(self) -> list[str]:
        """Programs that are started and not let go."""
        pairs = zip(self.started, self.running, strict=True)
        return [name for name, process in pairs if process.stdin is not None and not process.stdin.closed]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage()
    monkeypatch.setattr(agents.subprocess, "Popen", made.popen)
    yield made
    for process in made.running:
        if process.stdin is not None:
            process.stdin.close()
        process.kill()
        process.wait()


def task(name: str, fates: dict[int, str]) -> AgentTask:
    return AgentTask(f"homes/{name}", "fgpr1.x", f"{name}.csv", "notebook", fates)


def started(folder: Path, stage: Stage, fates: dict[int, str]) -> AgentProcesses:
    """Two processes: one that dies at once and has these fates, one that stays."""
    made = AgentProcesses(folder / "processes", [[task("a", fates)], [task("b", {})]])
    made.start()
    stage.await_deaths()
    return made


def test_each_group_gets_a_process_a_task_file_and_a_log(tmp_path: Path, stage: Stage) -> None:
    groups = [[task("a", {2: "x"}), task("b", {})], [task("c", {})]]
    AgentProcesses(tmp_path / "processes", groups).start()
    folder = tmp_path / "processes"
    assert sorted(path.name for path in folder.iterdir()) == ["000.json", "000.log", "001.json", "001.log"]
    assert [read_tasks(folder / f"00{number}.json") for number in (0, 1)] == groups
    assert stage.commands == [
        [sys.executable, "-m", "demo.agent_process", str(folder / f"00{number}.json")] for number in (0, 1)
    ]
    assert all(environment["OPENBLAS_NUM_THREADS"] == "1" for environment in stage.environments)


def test_nobody_is_revived_before_the_start(tmp_path: Path, stage: Stage) -> None:
    assert AgentProcesses(tmp_path, [[task("a", {})]]).revive(1) == 0
    assert stage.started == []


def test_the_dead_come_back_in_the_round_after_their_fate(tmp_path: Path, stage: Stage) -> None:
    made = started(tmp_path, stage, {2: "x", 5: "x"})
    assert stage.waiting() == []
    assert made.revive(2) == 1
    assert made.revive(2) == 1
    # It is started already, and waits for the next round.
    assert stage.started == ["000", "001", "000"]
    assert stage.waiting() == ["000"]
    assert made.revive(3) == 0
    assert stage.started == ["000", "001", "000"]
    assert stage.waiting() == []
    # It dies again in its next round, and is dead for that one too.
    stage.await_deaths()
    assert made.revive(5) == 1
    assert stage.waiting() == ["000"]
    assert made.revive(6) == 0
    assert stage.started == ["000", "001", "000", "000"]
    assert stage.waiting() == []


def test_a_death_that_is_noticed_late_is_counted_for_its_own_round(tmp_path: Path, stage: Stage) -> None:
    # It died in round 2; the launcher looks when round 3 runs already: no second round is missed.
    made = started(tmp_path, stage, {2: "x", 9: "x"})
    assert made.revive(3) == 0
    assert stage.started == ["000", "001", "000"]
    assert stage.waiting() == []


@pytest.mark.parametrize("fates", [{}, {7: "x"}])
def test_who_dies_without_a_fate_is_back_in_the_next_round(tmp_path: Path, stage: Stage, fates: dict[int, str]) -> None:
    made = started(tmp_path, stage, fates)
    assert made.revive(4) == 1
    assert made.revive(5) == 0
    assert stage.started == ["000", "001", "000"]


def test_a_group_shares_the_fates_of_all_its_agents(tmp_path: Path, stage: Stage) -> None:
    made = AgentProcesses(tmp_path, [[task("a", {2: "x"}), task("b", {4: "x"})]])
    made.start()
    stage.await_deaths()
    assert made.revive(4) == 1
    assert made.revive(5) == 0


def test_stopping_ends_those_that_run_and_minds_no_dead(tmp_path: Path, stage: Stage) -> None:
    made = started(tmp_path, stage, {2: "x"})
    made.stop()
    assert all(process.poll() is not None for process in stage.running)
    made.stop()


def test_who_does_not_end_politely_is_killed(tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "POLITE_SECONDS", 0.05)
    stage.programs["000"] = STUBBORN
    made = AgentProcesses(tmp_path, [[task("a", {})]])
    made.start()
    while not (tmp_path / "000.log").read_bytes():
        assert stage.running[0].poll() is None
    made.stop()
    assert stage.running[0].returncode == -9
