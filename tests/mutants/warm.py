"""An interpreter that has imported what is slow to import, and runs pytest in forks of itself.

A mutant's tests take less time than the packages that they need. Each request is a line of JSON on standard input, each
reply one on standard output. Nothing of this project is imported here: that is what differs from run to run.
"""

import importlib
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HEAVY = (
    "alembic",
    "cryptography.x509",
    "fastapi",
    "http_message_signatures",
    "httpx",
    "hypothesis",
    "numpy",
    "prometheus_client",
    "pydantic_settings",
    "pytest",
    "rfc8785",
    "scipy.optimize",
    "sqlalchemy.dialects.sqlite",
    "stamina",
    "starlette.testclient",
    "structlog",
    "typer.testing",
    "uvicorn.protocols.http.httptools_impl",
)


def serve() -> None:
    """Answer until standard input ends."""
    for name in HEAVY:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(_run(**json.loads(line))), flush=True)  # noqa: T201 - the other side of the pipe reads it


def _run(folder: str, path: list[str], arguments: list[str], seconds: float, keep: bool) -> dict[str, Any]:
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if not pid:
            _child(folder, path, arguments, output.fileno(), keep)
        status, end = None, time.monotonic() + seconds
        while status is None and time.monotonic() < end:
            done, code = os.waitpid(pid, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if done else None
            time.sleep(0.01)
        # Whatever its tests started goes with it.
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if status is None:
            os.waitpid(pid, 0)
        output.seek(0)
        return {"status": status, "output": output.read().decode(errors="replace")}


def _child(folder: str, path: list[str], arguments: list[str], output: int, keep: bool) -> None:
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    here = str(Path(__file__).resolve().parents[1])
    sys.path[:] = [*path, *(place for place in sys.path if place not in (here, ""))]
    # Wide enough for the reason of a failure to stand beside its test.
    os.environ |= {"PYTHONPATH": os.pathsep.join(path), "COLUMNS": "400"}
    for name in [name for name in sys.modules if name.partition(".")[0] == "mutants"]:
        del sys.modules[name]
    sys.dont_write_bytecode = not keep
    if not keep:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    import pytest

    code = 3
    try:
        code = int(pytest.main(arguments))
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
