"""HAProxy before the replicas, where there is one; its address is the public one."""

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from load.processes import START_SECONDS, listens

CONFIGURATION = """
global
    maxconn 4000
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    retries 2
    option redispatch
    retry-on conn-failure
frontend public
    bind 127.0.0.1:{public}
    default_backend replicas
backend replicas
    balance leastconn
    option httpchk GET /readyz
    default-server check inter 500ms fall 1 rise 1
{servers}
"""


def found() -> str | None:
    """The program, or None where it is not installed: then clients go to the replicas in turn by themselves."""
    return shutil.which("haproxy")


@contextmanager
def balanced(folder: Path, public: int, ports: Sequence[int]) -> Iterator[list[int]]:
    """Ports to which clients connect: HAProxy's, or those of the replicas."""
    program = found()
    if program is None:
        yield list(ports)
        return
    servers = "\n".join(f"    server replica-{port} 127.0.0.1:{port}" for port in ports)
    configuration = folder / "haproxy.cfg"
    configuration.write_text(CONFIGURATION.format(public=public, servers=servers))
    with (folder / "haproxy.log").open("ab") as log:
        process = subprocess.Popen([program, "-db", "-f", str(configuration)], stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_SECONDS
        while not listens(public):
            assert process.poll() is None, f"HAProxy ended: {(folder / 'haproxy.log').read_text()}"
            assert time.monotonic() < end, "HAProxy does not listen"
            time.sleep(0.02)
        yield [public]
    finally:
        process.terminate()
        process.wait(10)
