"""A real HAProxy with docker/haproxy.cfg in front of servers of a test."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from support.aggregator import free_port, wait_until
from support.compose import DOCKER

PREFIX = "/fgpr"


@dataclass(frozen=True)
class Proxy:
    """One that runs.

    Attributes:
        port: where it listens.
    """

    port: int

    @property
    def origin(self) -> str:
        """Its address, without the prefix."""
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> bool:
        """Whether it found a server that is ready."""
        return httpx.get(f"{self.origin}{PREFIX}/v1/log/checkpoint").status_code != 503


@contextmanager
def haproxy(folder: Path, backends: list[int]) -> Iterator[Proxy]:
    """HAProxy with our configuration; only the addresses are of this machine. Skips where there is none.

    Args:
        folder: for the configuration.
        backends: ports of the two replicas.
    """
    if shutil.which("haproxy") is None:
        pytest.skip("no haproxy is installed")
    port = free_port()
    text = (DOCKER / "haproxy.cfg").read_text(encoding="utf-8").replace("bind :8080", f"bind 127.0.0.1:{port}")
    for number, backend in enumerate(backends, 1):
        text = text.replace(f"aggregator-{number}:8000", f"127.0.0.1:{backend}")
    path = folder / "haproxy.cfg"
    path.write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "FGPR_PREFIX": PREFIX}
    with (
        (folder / "haproxy.log").open("wb") as log,
        subprocess.Popen(["haproxy", "-db", "-f", str(path)], env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or _listens(port))
            assert process.poll() is None, (folder / "haproxy.log").read_text(encoding="utf-8")
            yield Proxy(port)
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
