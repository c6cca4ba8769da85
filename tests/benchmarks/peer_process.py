"""A process of peers, seen from here and asked by message; those of `make bench` as contestants."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.contestants import Contestant
from benchmarks.problem import Answer, Problem
from benchmarks.report import ROOT

PYTHON = ROOT / ".venv-peers" / "bin" / "python"


class PeerProcess:
    """A running process that reads one JSON object a line and answers each with one; the first says its versions."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.versions: dict[str, str] = self._read()

    def contestants(self, problem: Problem) -> list[Contestant]:
        """The peers, prepared for a problem."""
        answers = self.ask({"what": "prepare", "problem": asdict(problem)})
        return [RemotePeer(self, name, Answer(*answer)) for name, answer in answers.items()]

    def ask(self, message: dict[str, Any]) -> Any:
        """Send one message and wait for the answer."""
        if self._process.stdin is None:
            raise RuntimeError("the peers' process has no input")
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError(f"the peers' process ended, exit status {self._process.wait()}: see its output above")
        return json.loads(line)


class RemotePeer:
    """One peer on the problem that its process was last prepared for."""

    def __init__(self, process: PeerProcess, name: str, answer: Answer) -> None:
        self._process = process
        self.name = name
        self._answer = answer

    def answer(self) -> Answer:
        """What it said when it was prepared."""
        return self._answer

    def step(self, repeats: int) -> float:
        """Seconds by its own clock, so that messages do not count."""
        return float(self._process.ask({"what": "step", "peer": self.name, "repeats": repeats}))

    def prediction(self, repeats: int) -> float:
        """Seconds by its own clock."""
        return float(self._process.ask({"what": "prediction", "peer": self.name, "repeats": repeats}))


@contextmanager
def peer_process(python: Path = PYTHON, module: str = "benchmarks.peers") -> Iterator[PeerProcess | None]:
    """The peers' process while it is needed; None where they are not installed."""
    if not python.is_file():
        yield None
        return
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "tests"),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    }
    command = [str(python), "-W", "ignore", "-m", module]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        yield PeerProcess(process)
