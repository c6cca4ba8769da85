"""The systemd unit: printed with the place of the program, and whole by systemd's own check."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from client_agent.unit_command import PLACEHOLDER, unit
from support.agent_command import fgpr_agent

SYSTEMD = shutil.which("systemd-analyze")

MOST_EXPOSED = 2.0
"""Of 10, as `systemd-analyze security` counts it; what a unit without any hardening has is 9.6."""


def printed(tmp_path):
    done = fgpr_agent("service-unit")
    assert (done.exit_code, done.stderr) == (0, "")
    path = tmp_path / "fgpr-agent.service"
    path.write_text(done.stdout)
    return path


def test_it_runs_the_program_that_prints_it(tmp_path):
    text = printed(tmp_path).read_text()
    assert f"\nExecStart={Path(sys.executable).parent / 'fgpr-agent'} run\n" in text
    assert PLACEHOLDER not in text
    assert PLACEHOLDER in unit(Path(PLACEHOLDER))


@pytest.mark.parametrize(
    "line",
    ["NoNewPrivileges=yes", "ProtectSystem=strict", "User=fgpr-agent", "StateDirectory=fgpr-agent", "UMask=0077"],
)
def test_it_is_hardened(tmp_path, line):
    assert line in printed(tmp_path).read_text().splitlines()


@pytest.mark.skipif(SYSTEMD is None, reason="no systemd-analyze here")
def test_systemd_finds_no_fault_in_it(tmp_path):
    path = printed(tmp_path)
    # The user is made by whoever installs it.
    path.write_text(re.sub(r"(User|Group)=fgpr-agent", r"\1=root", path.read_text()))
    verified = subprocess.run([SYSTEMD, "verify", path], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


@pytest.mark.skipif(SYSTEMD is None, reason="no systemd-analyze here")
def test_systemd_counts_it_as_little_exposed(tmp_path):
    words = [SYSTEMD, "security", "--offline=yes", "--no-pager", printed(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True)
    if "unrecognized option" in told.stderr:
        pytest.skip("this systemd-analyze cannot judge a file")
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told.stdout)
    assert exposure is not None
    assert float(exposure[1]) <= MOST_EXPOSED
