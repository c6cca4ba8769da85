"""The Dockerfiles: what they copy is there and nothing else can get in, and who runs what."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.aggregator import served
from support.certificates import self_signed
from support.compose import DOCKER, ROOT

IMAGES = ("aggregator", "agent")


def lines(image: str) -> list[str]:
    """Its instructions, one a line, without comments."""
    text = (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]


def instructions(image: str, name: str) -> list[str]:
    return [line.partition(" ")[2] for line in lines(image) if line.startswith(f"{name} ")]


def copied(image: str) -> list[str]:
    """What it takes from the checkout."""
    return [
        source
        for words in map(str.split, instructions(image, "COPY"))
        if not words[0].startswith("--from")
        for source in words[:-1]
    ]


def let_in(path: str) -> bool:
    """What .dockerignore says of a path: the last pattern that matches it or a folder above it decides."""
    allowed = True
    parts = Path(path).parts
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!")
        if not pattern or pattern.startswith("#"):
            continue
        anywhere = pattern.removeprefix("**/")
        names = above if anywhere == pattern else [Path(one).name for one in above]
        if any(fnmatch.fnmatchcase(name, anywhere) and name.count("/") == anywhere.count("/") for name in names):
            allowed = line.startswith("!")
    return allowed


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_copied_is_there_and_let_in(image: str) -> None:
    assert len(copied(image)) >= 8
    for source in copied(image):
        assert (ROOT / source).exists()
        assert let_in(source)
        if (ROOT / source).is_dir():
            assert all(let_in(str(file.relative_to(ROOT))) for file in (ROOT / source).rglob("*.py"))


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "docker/.env",
        "docker/secrets/database_password",
        "docker/secrets/tls/fgpr.pem",
        "docker/data/rows.csv",
        "keys/service.pem",
        "fgpr.db",
        "fgpr.db-wal",
        ".git/config",
        ".venv/bin/python",
        "build/demo/report.json",
        "data/cmapss/train_FD001.txt",
        "tests/conftest.py",
        "requirements/peers.in",
        "libs/fgpr/__pycache__/errors.cpython-311.pyc",
    ],
)
def test_nothing_else_gets_into_a_layer(path: str) -> None:
    assert not let_in(path)


@pytest.mark.parametrize("image", IMAGES)
def test_locked_packages_and_a_pinned_base(image: str) -> None:
    assert instructions(image, "ARG") == ["BASE=python:3.11.14-slim-bookworm"]
    assert instructions(image, "FROM") == ["${BASE} AS build", "${BASE}"]
    installs = re.findall(r"pip (?:install|wheel) [^&]*", " && ".join(instructions(image, "RUN")))
    locks = [found[1] for one in installs if (found := re.search(r"--require-hashes -r (\S+)", one))]
    assert locks == ["requirements/build.txt", f"requirements/{image}.txt"]
    for lock in locks:
        assert (ROOT / lock).read_text(encoding="utf-8").count("--hash=sha256:") > 5
    assert sorted({one.split()[1] for one in installs}) == ["install", "wheel"]
    # Whatever is not from a lock may fetch nothing.
    others = [one for one in installs if "--require-hashes" not in one]
    assert len(others) == 2
    assert all("--no-deps" in one and ("--no-index" in one or "--no-build-isolation" in one) for one in others)


@pytest.mark.parametrize("image", IMAGES)
def test_nobody_is_root(image: str) -> None:
    told = lines(image)
    (user,) = instructions(image, "USER")
    uid, gid = user.split(":")
    assert int(uid) == int(gid) >= 10_000
    created = next(line for line in instructions(image, "RUN") if "useradd" in line)
    assert f"--gid {gid} " in created
    assert f"--uid {uid} " in created
    # Nothing is run or copied after it.
    assert not {line.split()[0] for line in told[told.index(f"USER {user}") :]} & {"RUN", "COPY", "ADD"}
    assert instructions(image, "STOPSIGNAL") == ["SIGTERM"]
    assert not [line for line in told if line.startswith("ADD ")]


def test_each_starts_its_program() -> None:
    assert instructions("aggregator", "ENTRYPOINT") == ['["fgpr-aggregator"]']
    assert instructions("aggregator", "CMD") == ['["serve", "--listen", "0.0.0.0:8000"]']
    assert instructions("agent", "ENTRYPOINT") == ['["fgpr-agent"]']
    (check,) = instructions("aggregator", "HEALTHCHECK")
    assert check.endswith('CMD ["python", "/opt/fgpr/livez.py"]')
    assert instructions("agent", "HEALTHCHECK") == ["NONE"]


def livez(origin: str, **environment: str) -> int:
    address = origin.partition("://")[2]
    words = [sys.executable, "-W", "error", str(DOCKER / "livez.py")]
    return subprocess.run(
        words, env={"FGPR_LIVEZ": address, **environment}, capture_output=True, check=False
    ).returncode


@pytest.mark.slow
def test_the_health_check(tmp_path: Path) -> None:
    with served(tmp_path, keeps_deadlines=False) as aggregator:
        assert livez(aggregator.settings.origin) == 0
        assert livez(aggregator.settings.origin, FGPR_TLS_CERTIFICATE="x") != 0
    assert livez(aggregator.settings.origin) != 0


@pytest.mark.slow
def test_the_health_check_where_the_aggregator_speaks_tls(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with served(tmp_path, keeps_deadlines=False, tls_certificate=certificate, tls_key=key) as aggregator:
        assert livez(aggregator.settings.origin, FGPR_TLS_CERTIFICATE=str(certificate)) == 0
        assert livez(aggregator.settings.origin) != 0
