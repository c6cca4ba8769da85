"""Programs in a mount namespace of their own, which takes root: what they mount is gone with them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def told_by(program: str, folder: Path, *before: str, seconds: float) -> dict[str, Any]:
    """What a Python program prints last, as JSON; the test is skipped where there are no namespaces.

    Args:
        program: its text; the folder is its first argument.
        folder: for it to mount on, and to write into.
        before: words of a command that mounts what the program finds there and begins it.
        seconds: that it may take.
    """
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts of one's own here")
    done = subprocess.run(
        ["unshare", "-m", *before, sys.executable, "-c", program, str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
