"""Runs a demonstration's agent that is killed with its contribution written and not a byte of it sent."""

import os
import signal
import sys
from pathlib import Path

from client_agent.api import Api
from demo.agent_process import read_tasks, run


def _die_before_sending(_api: Api, path: str, body: bytes) -> bytes:
    assert "contributions" in path
    assert body
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


if __name__ == "__main__":
    Api.put = _die_before_sending  # type: ignore[method-assign]
    run(read_tasks(Path(sys.argv[1])))
