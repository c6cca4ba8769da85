"""What the images install: the wheel, with the packages of one lock and no others, works outside of a checkout.

The environments are made without a network: each holds those distributions of this one that its lock names.
"""

import os
import re
import subprocess
import sys
import time
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import httpx
import pytest

from support.aggregator import free_port
from support.compose import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as in the Dockerfiles."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
    subprocess.run([sys.executable, *words, ROOT], check=True, capture_output=True)
    (made,) = folder.glob("fgpr-*.whl")
    return made


def locked(lock: str) -> dict[str, str]:
    """Names and versions in a lock, without what another platform needs."""
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    found = re.findall(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z,]+\])?==([^ ;\\]+)( ; [^\\]*)?", text, re.MULTILINE)
    return {name: version for name, version, marker in found if "win32" not in marker}


def environment(folder: Path, lock: str, wheel: Path) -> Path:
    """A new environment with these distributions and the wheel; where its programs are."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for name, version in locked(lock).items():
        found = distribution(name)
        assert found.version == version, f"{name} differs from {lock}: run make lock"
        for part in {Path(str(file)).parts[0] for file in found.files or () if not str(file).startswith("..")}:
            if part != "__pycache__" and not (site / part).exists():
                (site / part).symlink_to(str(found.locate_file(part)))
    words = ["-m", "pip", "--python", folder, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return folder / "bin"


def test_the_wheel_has_everything(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    for folder, place in (
        ("libs/fgpr", "fgpr"),
        ("services/aggregator", "aggregator"),
        ("migrations", "aggregator/migrations"),
    ):
        files = {file.relative_to(ROOT / folder) for file in (ROOT / folder).rglob("*.py")}
        assert {f"{place}/{file}" for file in files} <= names
    assert "aggregator/migrations/versions/0001_the_first_schema.py" in names
    # No key, test or setting of whoever built it.
    outside = {
        name for name in names if not name.startswith(("fgpr/", "aggregator/", "client_agent/", "demo/", "fgpr-"))
    }
    assert outside == set()
    assert not [name for name in names if name.endswith((".pem", ".db", ".env"))]


def test_the_aggregators_image(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "fgpr", "aggregator.txt", wheel)
    work = tmp_path / "work"
    work.mkdir()
    port = free_port()
    settings = {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "FGPR_DATABASE": f"sqlite:///{work}/fgpr.db",
        "FGPR_KEYS": f"{work}/keys",
        "FGPR_ORIGIN": f"http://127.0.0.1:{port}",
    }
    program = [programs / "python", "-W", "error", programs / "fgpr-aggregator"]
    done = subprocess.run([*program, "migrate"], env=settings, cwd=work, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with subprocess.Popen(
        [*program, "serve", "--listen", f"127.0.0.1:{port}"], env=settings, cwd=work, stderr=subprocess.PIPE
    ) as process:
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    ready = httpx.get(f"http://127.0.0.1:{port}/readyz")
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    assert time.monotonic() < end
                    time.sleep(0.05)
            assert ready.status_code == 200
            note = httpx.get(f"http://127.0.0.1:{port}/v1/log/checkpoint").json()["note"]
            assert note.splitlines()[1] == "0"
        finally:
            # As Docker stops it.
            process.terminate()
            _, told = process.communicate(timeout=30)
    assert b"Traceback" not in told
    # It is the installed package that ran, and the development packages were out of its reach.
    code = "import aggregator.storage.migrate as m; print(m._folder())\nimport pytest"
    looked = subprocess.run(
        [programs / "python", "-c", code], env=settings, capture_output=True, text=True, check=False
    )
    assert Path(looked.stdout.strip()).is_relative_to(tmp_path / "fgpr")
    assert "No module named 'pytest'" in looked.stderr


def test_the_agents_image(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "fgpr", "agent.txt", wheel)
    settings = {"PATH": os.environ["PATH"], "FGPR_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    program = [programs / "python", "-W", "error", programs / "fgpr-agent"]
    (tmp_path / "rows.csv").write_text("cycle,T24\n1,2\n", encoding="utf-8")
    for words in (["run", "--data", str(tmp_path / "rows.csv")], ["prior", "show"]):
        done = subprocess.run([*program, *words], env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert str(tmp_path / "home") in line
    # An edge device installs no web framework.
    for name in ("fastapi", "sqlalchemy", "uvicorn"):
        looked = subprocess.run(
            [programs / "python", "-c", f"import {name}"], capture_output=True, text=True, check=False
        )
        assert f"No module named '{name}'" in looked.stderr
