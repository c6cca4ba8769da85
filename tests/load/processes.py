"""The processes that are measured: replicas of the aggregator, what they and the database take of this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.aggregator import free_port

START_SECONDS = 60.0
TICKS = os.sysconf("SC_CLK_TCK")

GENEROUS = {"FGPR_ADDRESS_RATE": "1000000", "FGPR_ADDRESS_BURST": "1000000", "FGPR_CONNECTIONS_EACH": "2000"}
"""Every client of a load has this machine's address; else the defaults are measured."""


@dataclass
class Replica:
    """One aggregator process; started again, it has the same port."""

    folder: Path
    database: str
    keys: Path
    origin: str
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    spent: float = 0.0

    @property
    def log(self) -> Path:
        """What it writes, a line for each request among it."""
        return self.folder / f"aggregator-{self.port}.log"

    def start(self) -> None:
        """Start it, without waiting until it listens."""
        command = [sys.executable, "-m", "aggregator.cli", "serve", "--listen", f"127.0.0.1:{self.port}"]
        environment = os.environ | GENEROUS
        environment |= {"FGPR_DATABASE": self.database, "FGPR_KEYS": str(self.keys), "FGPR_ORIGIN": self.origin}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def wait(self) -> None:
        """Wait until it listens."""
        end = time.monotonic() + START_SECONDS
        while not listens(self.port):
            assert self.process is not None
            assert self.process.poll() is None, f"the aggregator ended: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < end, "the aggregator does not listen"
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self.process is not None
        return self.process.pid

    def cpu_seconds(self) -> float:
        """CPU time of this process and of those in its place that were killed."""
        return self.spent + cpu_seconds([self.pid])

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.spent += cpu_seconds([self.pid])
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def replicas(folder: Path, database: str, keys: Path, count: int = 1) -> Iterator[tuple[str, list[Replica]]]:
    """The public address, and replicas that listen; one alone has that address itself."""
    ports = [free_port() for _ in range(count)]
    public = ports[0] if count == 1 else free_port()
    origin = f"http://127.0.0.1:{public}"
    made = [Replica(folder, database, keys, origin, port) for port in ports]
    try:
        for replica in made:
            replica.start()
        for replica in made:
            replica.wait()
        yield origin, made
    finally:
        for replica in made:
            replica.stop()


def listens(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time that these processes took so far, and their children that ended; those that are gone count nothing."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(ticks) for ticks in fields[11:15]) / TICKS
    return total


def memory_mb(pid: int) -> float:
    """The most memory that a process has had resident, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("no VmHWM in /proc")


def families(pids: Sequence[int]) -> list[int]:
    """Processes and their children."""
    found = list(pids)
    for entry in Path("/proc").iterdir() if pids else ():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent in pids:
                found.append(int(entry.name))
    return found
