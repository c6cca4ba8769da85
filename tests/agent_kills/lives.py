"""Lives of one agent: each is `fgpr-agent run` in a process of its own, forked from one that has read all the code.

Run as `python -m agent_kills.lives`: it takes an order a line on standard input and answers with how the life ended.
A fork of a process of one thread is as good as a start, and costs a tenth of it.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_kills.tripwire import Tripwire
from client_agent import cli

HUNG = 300
"""Seconds after which a life counts as hung."""


@dataclass(frozen=True)
class Order:
    """One life.

    Attributes:
        home: of the agent.
        data: its rows.
        notes: folder for what the tripwire notes.
        at: the step at which it dies; None lets it serve a round and end.
    """

    home: str
    data: str
    notes: str
    at: int | None


class Lives:
    """Gives lives to agents, one after the other."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent_kills.lives"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def live(self, order: Order) -> int:
        """How a life ended: 0, an exit code, or the negative number of the signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            # Its standard input ends, and with it the process.
            self._process.communicate(timeout=HUNG)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _begin(order: Order) -> None:
    signal.alarm(HUNG)
    notes = Path(order.notes)
    log = os.open(notes / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    wire = Tripwire(Path(order.home), order.at, notes)
    wire.arm()
    code = 1
    try:
        cli.app(["run", "--home", order.home, "--data", order.data, "--rounds", "1"], standalone_mode=False)
        code = 0
        (notes / "steps").write_text(json.dumps(wire.steps))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Serve orders until standard input ends."""
    for line in sys.stdin:
        order = Order(**json.loads(line))
        child = os.fork()
        if child == 0:
            _begin(order)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
