"""`fgpr-demo`: as a process of its own, as its user starts it, or in this one, which spares seconds of imports."""

import os
import subprocess
import sys

from typer.testing import CliRunner, Result

from demo import cli

COLUMNS = {"COLUMNS": "80"}


def as_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    command = [sys.executable, "-m", "demo.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, env=os.environ | COLUMNS)


def in_process(*arguments: str) -> Result:
    """Run what starts no processes itself: --verify, and wishes that are refused."""
    return CliRunner().invoke(cli.app, arguments, env=COLUMNS)
