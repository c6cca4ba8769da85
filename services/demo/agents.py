"""The processes that run the demonstration's agents, and who comes back to life."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.agent_process import AgentTask, write_tasks

POLITE_SECONDS = 20
"""How long a process may take to end by itself."""


@dataclass
class _Worker:
    tasks: Path
    log: Path
    fated: frozenset[int]
    process: subprocess.Popen[bytes] | None = None
    dead_for: int | None = None


class AgentProcesses:
    """Processes of agents.

    Args:
        folder: for their task files and logs.
        groups: the agents of each process.
    """

    def __init__(self, folder: Path, groups: Sequence[Sequence[AgentTask]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._workers = []
        for number, group in enumerate(groups):
            fated = frozenset(round_number for task in group for round_number in task.fates)
            worker = _Worker(folder / f"{number:03d}.json", folder / f"{number:03d}.log", fated)
            write_tasks(worker.tasks, list(group))
            self._workers.append(worker)

    def start(self) -> None:
        """Start every process."""
        for worker in self._workers:
            _start(worker)
            _let_go(worker)

    def revive(self, running_round: int) -> int:
        """Let what died come back in the round after; how many processes are dead at present.

        The new process is started at once and waits: a Python that starts takes longer than its part in a round, and
        the time for that is while the round of its death runs out.

        Args:
            running_round: the newest round that has not ended.
        """
        dead = 0
        for worker in self._workers:
            if worker.process is not None and worker.process.poll() is not None and worker.dead_for is None:
                # The round may have ended since: it was the last one with a fate for this process.
                fated = (fate for fate in worker.fated if fate <= running_round)
                worker.dead_for = max(fated, default=running_round)
                _start(worker)
            if worker.dead_for is None:
                continue
            if running_round > worker.dead_for:
                worker.dead_for = None
                _let_go(worker)
            else:
                dead += 1
        return dead

    def stop(self) -> None:
        """End every process and wait."""
        alive = [worker.process for worker in self._workers if worker.process is not None]
        for worker in self._workers:
            _let_go(worker)
        for process in alive:
            process.terminate()
        for process in alive:
            try:
                process.wait(POLITE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(worker: _Worker) -> None:
    """Start a process that waits until it is let go."""
    command = [sys.executable, "-m", "demo.agent_process", str(worker.tasks)]
    # Processes side by side on few cores: a pool of BLAS threads in each would only wait for the others.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with worker.log.open("ab") as log:
        worker.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log)


def _let_go(worker: _Worker) -> None:
    if worker.process is not None and worker.process.stdin is not None:
        worker.process.stdin.close()
