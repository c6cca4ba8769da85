"""Faults: a kill at a statement or on either side of a commit; a kill, EIO or ENOSPC at a system call that writes."""

import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kills.copies import path_of
from kills.script import Act, acts
from kills.site import Site

CALLS = ("pwrite64", "write", "writev", "ftruncate", "fallocate", "fsync", "fdatasync", "unlink", "openat")
"""System calls by which SQLite changes its files; of `openat` those that may create one."""

HOW = {"KILL": "signal=SIGKILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC"}


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        kind: statement, commit, KILL, EIO or ENOSPC.
        at: number of the statement or commit in its act, or of the system call among those of its name, from 1.
        what: the statement or system call.
    """

    kind: str
    at: int
    what: str


class Faults(Protocol):
    """A way to let faults happen. Both play the act on a site whose aggregator was just started."""

    def enumerate(self, site: Site, act: Act) -> list[Fault]:
        """Every fault that can happen in an act."""
        ...

    def inject(self, site: Site, act: Act, fault: Fault) -> bool:
        """Play an act with one fault; whether it happened."""
        ...


class StatementFaults:
    """The aggregator kills itself before a statement, before a commit, or after one."""

    def enumerate(self, site: Site, act: Act) -> list[Fault]:
        site.ask("arm", 0)
        act.play(site)
        seen: list[str] = site.ask("seen")
        return [
            Fault("commit" if " COMMIT" in what else "statement", at, what) for at, what in enumerate(seen, start=1)
        ]

    def inject(self, site: Site, act: Act, fault: Fault) -> bool:
        site.ask("arm", fault.at)
        act.play(site)
        return site.restarts == 1


class SyscallFaults:
    """`strace` lets a system call on the database's files fail, or kills the aggregator where it begins."""

    def enumerate(self, site: Site, act: Act) -> list[Fault]:
        self._start(site, act)
        with _traced(site) as log:
            act.play(site)
        counted: Counter[str] = Counter()
        faults = []
        for line in log.read_text(errors="replace").splitlines():
            name = line.partition("(")[0]
            if name not in CALLS:
                continue
            counted[name] += 1
            if name != "openat" or "O_CREAT" in line:
                faults += [Fault(kind, counted[name], name) for kind in HOW]
        return faults

    def inject(self, site: Site, act: Act, fault: Fault) -> bool:
        self._start(site, act)
        with _traced(site, f"--inject={fault.what}:{HOW[fault.kind]}:when={fault.at}") as log:
            act.play(site)
        if fault.kind == "KILL":
            return site.restarts == 1
        return log.read_text(errors="replace").count("(INJECTED)") == 1

    def _start(self, site: Site, act: Act) -> None:
        # How it starts is part of the first act alone: it is the same each time.
        if (act.chapter, act.name) != (acts()[0].chapter, acts()[0].name):
            site.ask("nothing")


def missing_tool() -> str | None:
    """Why system calls cannot be made to fail here; None where they can."""
    return None if shutil.which("strace") else "there is no strace here: apt-get install strace"


@contextmanager
def _traced(site: Site, *options: str) -> Iterator[Path]:
    assert site.process is not None
    database = path_of(site.settings.database)
    log = database.with_name("strace.log")
    files = [database, *(database.with_name(f"{database.name}{end}") for end in ("-wal", "-shm", "-journal"))]
    paths = [f"--trace-path={path}" for path in (*files, database.parent)]
    command = ["strace", f"--attach={site.process.pid}", f"--output={log}", f"--trace={','.join(CALLS)}", *paths]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE) as tracer:
        assert tracer.stderr is not None
        for line in tracer.stderr:
            if b"attached" in line:
                break
        else:
            raise RuntimeError("strace did not attach: may this user trace processes?")
        try:
            yield log
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.stderr.read()
