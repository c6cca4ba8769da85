"""The REST part of docs/walkthrough.md, run as it stands there: each command, and what it prints."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

WALKTHROUGH = Path(__file__).parents[2] / "docs" / "walkthrough.md"
ADDRESS = "127.0.0.1:8000"


def section(heading: str) -> str:
    _, _, rest = WALKTHROUGH.read_text(encoding="utf-8").partition(f"## {heading}\n")
    return rest.partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[tuple[str, str]]:
    """Each command with what it prints, where the text shows that."""
    lines = "".join(blocks(text, "console"))
    return [
        (part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]
    ]


class Machine:
    """A folder in which commands are run, and an aggregator at another port than the text names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        programs = Path(sys.executable).parent
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FGPR_")}
        self.environment = kept | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "FGPR_ORIGIN": f"http://{self.address}",
        }

    def run(self, command: str) -> str:
        command = command.replace(ADDRESS, self.address)
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def serve(self) -> subprocess.Popen[bytes]:
        command = ["fgpr-aggregator", "serve", "--listen", self.address]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment)

    def wait(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if httpx.get(f"http://{self.address}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("it never listened")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """After the operator's part and with engine-1 enrolled."""
    if shutil.which("curl") is None:
        pytest.skip("the walkthrough's commands want curl")
    made = Machine(tmp_path_factory.mktemp("walkthrough"))
    toml, _ = blocks(section("The operator"), "toml")
    (made.folder / "turbofan.toml").write_text(toml, encoding="utf-8")
    steps = [command for command, _ in commands(section("The operator"))]
    for command in steps[: steps.index("fgpr-aggregator federation create turbofan.toml") + 1]:
        made.run(command)
    with made.serve() as process:
        try:
            made.wait()
            made.run("fgpr-aggregator invite --federation turbofan engine-1 > ticket")
            made.run("fgpr-agent enrol --ticket @ticket --home engine-1")
            yield made
        finally:
            process.terminate()
            process.wait(30)


def pattern(shown: str) -> str:
    """What a text shows of an answer: `...` stands for anything."""
    return ".*".join(re.escape(part) for part in shown.strip().split("..."))


@pytest.mark.slow
def test_each_command_prints_what_the_text_shows(machine: Machine) -> None:
    run = commands(section("By REST"))
    assert len(run) > 10
    assert sum("sign-request" in command for command, _ in run) >= 3
    for command, shown in run:
        printed = machine.run(command).strip()
        assert re.fullmatch(pattern(shown), printed, re.DOTALL), f"$ {command}\n{printed}\nthe text shows\n{shown}"


@pytest.mark.slow
def test_the_python_in_it(machine: Machine) -> None:
    (code,) = blocks(section("By REST"), "python")
    (machine.folder / "example.py").write_text(code.replace(ADDRESS, machine.address), encoding="utf-8")
    assert '"prior"' in machine.run("python example.py")
