"""The commands on disks that fill up, and with a port that is taken: one line that says what to do, and exit status 1.

The disks are real ones of a few hundred kilobytes, mounted for one process only; without root that test is skipped.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aggregator.cli import app
from support.mounts import told_by

PROGRAM = """
import contextlib, json, sqlite3, subprocess, sys
from pathlib import Path

from typer.testing import CliRunner

from aggregator import logs
from aggregator.cli import app

logs.configure = lambda: None
folder, small, told = Path(sys.argv[1]), Path(sys.argv[1]) / "small", {}
small.mkdir()


def run(*words, database=folder / "x.db", keys=folder / "keys"):
    done = CliRunner().invoke(app, [*words, "--database", f"sqlite:///{database}", "--keys", str(keys)])
    return done.exit_code, isinstance(done.exception, SystemExit) or done.exception is None, done.output.splitlines()


def fill_up():
    with (small / "fill").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def mounted(kilobytes, act, fill=False):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(small)], check=True)
    try:
        if fill:
            fill_up()
        return act()
    finally:
        # What a command left open in this process would hold the mount.
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def backup():
    done = run("backup", str(small / "backup"))
    left = sorted(path.name for path in small.iterdir())
    leaves = None
    if done[0] == 0:
        with sqlite3.connect(f"file:{small / 'backup'}?immutable=1", uri=True) as connection:
            leaves = connection.execute("SELECT size FROM log_head").fetchone()
    return done, left, leaves


assert run("migrate")[0] == 0
told["backups"] = [mounted(kilobytes, backup) for kilobytes in range(40, 720, 40)]
told["restore"] = (run("backup", str(folder / "backup")), mounted(
    64, lambda: run("restore", str(folder / "backup"), database=small / "y.db"), fill=True
))[1]
told["migrate"] = mounted(2048, lambda: run("migrate", database=small / "y.db"), fill=True)
told["keys"] = mounted(64, lambda: run("migrate", database=folder / "z.db", keys=small / "keys"), fill=True)


def full_server():
    assert run("migrate", database=small / "y.db", keys=folder / "other")[0] == 0
    fill_up()
    return run("serve", "--listen", "127.0.0.1:0", database=small / "y.db", keys=folder / "other")


told["serve"] = mounted(4096, full_server)
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts take root")
def test_full_disks(tmp_path: Path) -> None:
    told = told_by(PROGRAM, tmp_path, seconds=600)
    backups = told.pop("backups")
    # The largest disk takes it, the smallest does not; between them it is whole, or there is none.
    assert [one[0][0] for one in (backups[0], backups[-1])] == [1, 0]
    for (status, plain, lines), left, leaves in backups:
        assert plain
        assert (left, leaves) == ((["backup"], [0]) if status == 0 else ([], None)), lines
        assert status == 0 or (len(lines) == 1 and "cannot write" in lines[0] and "make room" in lines[0]), lines
    for command, (status, plain, lines) in told.items():
        assert (status, plain, len(lines)) == (1, True, 1), (command, lines)
        assert lines[0].startswith("fgpr-aggregator: "), command
        assert "make room" in lines[0] or "No space left on device" in lines[0] or "make some" in lines[0], lines


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_has_no_room() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "aggregator.cli", "openapi"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "fgpr-aggregator: no room is left on the disk of the output: make some"
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("logs_as_they_are")
def test_addresses_that_cannot_be_listened_on(tmp_path: Path) -> None:
    options = ["--database", f"sqlite:///{tmp_path / 'x.db'}", "--keys", str(tmp_path / "keys")]
    assert CliRunner().invoke(app, ["migrate", *options]).exit_code == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = (
            (("--listen", f"127.0.0.1:{port}"), "Address already in use; stop the process that listens there"),
            (
                ("--listen", "127.0.0.1:0", "--metrics", f"127.0.0.1:{port}"),
                f"cannot listen on 127.0.0.1:{port} for metrics",
            ),
            # Of TEST-NET-1 (RFC 5737): no machine has it.
            (("--listen", "192.0.2.1:8000"), "name an address of this machine, such as 127.0.0.1"),
        )
        for words, reason in cases:
            result = CliRunner().invoke(app, ["serve", *words, *options])
            assert (result.exit_code, type(result.exception)) == (1, SystemExit), result.output
            (line,) = result.stderr.splitlines()
            assert line.startswith("fgpr-aggregator: cannot listen on ")
            assert reason in line
