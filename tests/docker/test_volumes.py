"""Case E11: volumes that belong to somebody else, one file mounted alone, a full disk; and the one that is right.

Users and mounts are real ones, as a container has them; without root these tests are skipped.
"""

import os
import secrets
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import enrolment, federations, operator
from aggregator.settings import Settings
from fgpr.secagg.messages import Contribution
from load.processes import listens
from support.aggregator import free_port, settings_of, wait_until
from support.client import NAME
from support.databases import migrated_sqlite
from support.party import Party, Recorded

TESTS = Path(__file__).resolve().parents[1]
IMAGE_USER, OTHER_USER = 10001, 12345

TOML = """
name = "engines"

[model]
kernel = "rbf"
features = [{ name = "cycle", unit = "1", lower = 0.0, upper = 300.0 }]
target = { name = "T24", unit = "degR", scaling = "standardise" }
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="other users and mounts take root"),
]


@pytest.fixture
def volume() -> Iterator[Path]:
    """A new named volume: Docker gives it the owner and mode of the image's folder."""
    # Not below pytest's own folder, into which only root gets.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = Path(folder) / "volume"
        for part in (made, made / "database", made / "keys"):
            part.mkdir(mode=0o700)
            os.chown(part, IMAGE_USER, IMAGE_USER)
        yield made


@pytest.fixture
def used(volume: Path) -> Path:
    """A volume with a key and a database of an earlier run."""
    own(volume, 0)
    migrated_sqlite(volume / "database" / "fgpr.db")
    KeyDirectory(volume / "keys").ensure_service()
    own(volume, IMAGE_USER)
    return volume


def own(volume: Path, user: int) -> None:
    """chown -R."""
    for part in (volume, *volume.rglob("*")):
        os.chown(part, user, user)


def database_of(volume: Path) -> str:
    return f"sqlite:///{volume}/database/fgpr.db"


def command(volume: Path, user: int, *words: str) -> list[str]:
    options = ["--database", database_of(volume), "--keys", f"{volume}/keys"]
    return [sys.executable, "-m", "support.as_user", str(user), "aggregator.cli", *words, *options]


def run(words: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, env=environment(), cwd="/", capture_output=True, text=True, timeout=120, check=False)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def up(volume: Path, port: int) -> Iterator[None]:
    """An aggregator on the volume; at the end it is killed, as a container that does not stop in time."""
    words = command(volume, IMAGE_USER, "serve", "--listen", f"127.0.0.1:{port}", "--origin", origin_at(port))
    with (volume.parent / "log").open("ab") as log:
        process = subprocess.Popen(words, env=environment(), cwd="/", stdout=log, stderr=log)
    try:
        wait_until(lambda: process.poll() is not None or listens(port), 60.0)
        assert process.poll() is None, (volume.parent / "log").read_text(encoding="utf-8")[-2000:]
        yield
    finally:
        process.kill()
        process.wait()


def origin_at(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def invited(used: Path, origin: str) -> list[Party]:
    """Three parties of a federation that the volume has from now on."""
    own(used, 0)
    context = main.create_context(Settings(database=database_of(used), keys=used / "keys", origin=origin))
    try:
        operator.start_log(context)
        federations.create(context, settings_of(min_clients=3), context.keys.ensure_roster(NAME))
        tickets = [enrolment.invite(context, NAME, f"client-{number}", "client") for number in range(3)]
    finally:
        context.database.close()
    own(used, IMAGE_USER)
    return [Party(ticket, Recorded(), main.now, secrets.token_bytes) for ticket in tickets]


def migrate(volume: Path, user: int) -> "subprocess.CompletedProcess[str]":
    return run(command(volume, user, "migrate"))


def line_of(done: "subprocess.CompletedProcess[str]") -> str:
    """What a refusal says: it ends at once, with one line and no traceback, so that a restart repeats one line."""
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line.removeprefix("fgpr-aggregator: ")


def test_a_new_volume_works_without_root(volume: Path) -> None:
    done = migrate(volume, IMAGE_USER)
    assert (done.returncode, done.stderr) == (0, "")
    made = [volume / "database" / "fgpr.db", volume / "keys" / "service.pem"]
    assert [part.stat().st_uid for part in made] == [IMAGE_USER] * 2
    (volume / "f.toml").write_text(TOML, encoding="utf-8")
    (volume / "f.toml").chmod(0o644)
    assert run(command(volume, IMAGE_USER, "federation", "create", str(volume / "f.toml"))).returncode == 0
    listed = run(command(volume, IMAGE_USER, "round", "list", "--federation", "engines", "--json"))
    assert (listed.returncode, listed.stdout.strip()) == (0, "[]")


def test_down_and_up_again_keeps_the_update_posted_last(used: Path) -> None:
    port = free_port()
    parties = invited(used, origin_at(port))
    try:
        with up(used, port):
            for party in parties:
                party.enrol()
            wait_until(lambda: parties[0].view().plan is not None)
            body = parties[0].contribution()
            receipt = parties[0].send_contribution(body)
        with up(used, port):
            with closing(sqlite3.connect(used / "database" / "fgpr.db")) as connection:
                stored = connection.execute("SELECT round, client, masked FROM contributions").fetchall()
            assert stored == [(1, "client-0", Contribution.decode(body).masked)]
            # An agent that missed the receipt gets it now.
            assert parties[0].send_contribution(body) == receipt
    finally:
        for party in parties:
            party.api.close()


@pytest.mark.parametrize("state", ["used", "volume"])
def test_a_volume_of_roots(request: pytest.FixtureRequest, state: str) -> None:
    volume: Path = request.getfixturevalue(state)
    own(volume, 0)
    assert line_of(migrate(volume, IMAGE_USER)) == (
        f"uid {IMAGE_USER} does not get through {volume} to {volume / 'database'}: "
        "it belongs to uid 0 and has mode 0700; chown or chmod it"
    )
    os.chown(volume, IMAGE_USER, IMAGE_USER)
    told = line_of(migrate(volume, IMAGE_USER))
    assert told == (
        f"uid {IMAGE_USER} has to read and write in {volume / 'database'}, which belongs to uid 0 and has mode 0700: "
        f"chown -R {IMAGE_USER} {volume / 'database'}"
    )
    # As it says.
    own(volume / "database", IMAGE_USER)
    told = line_of(migrate(volume, IMAGE_USER))
    assert str(volume / "keys") in told
    assert f"uid {IMAGE_USER}" in told
    own(volume / "keys", IMAGE_USER)
    assert migrate(volume, IMAGE_USER).returncode == 0


@pytest.mark.parametrize("name", ["fgpr.db", "fgpr.db-wal"])
def test_one_file_of_roots_in_a_folder_that_is_right(used: Path, name: str) -> None:
    file = used / "database" / name
    file.touch()
    os.chown(file, 0, 0)
    told = line_of(migrate(used, IMAGE_USER))
    assert told.startswith(f"uid {IMAGE_USER} has to read and write to {file}, which belongs to uid 0")


def test_another_user_than_the_images(used: Path) -> None:
    used.chmod(0o755)
    told = line_of(migrate(used, OTHER_USER))
    assert told.endswith(
        f"{used / 'database'}, which belongs to uid {IMAGE_USER} and has mode 0700: "
        f"chown -R {OTHER_USER} {used / 'database'}"
    )
    own(used / "database", OTHER_USER)
    assert line_of(migrate(used, OTHER_USER)) == (
        f"{used / 'keys'} belongs to uid {IMAGE_USER}, this process runs as {OTHER_USER}: "
        f"chown {OTHER_USER} {used / 'keys'}"
    )
    own(used, OTHER_USER)
    assert migrate(used, OTHER_USER).returncode == 0


def in_mounts(script: str, volume: Path) -> "subprocess.CompletedProcess[str]":
    """`migrate` in mounts of its own, made by a shell script; skips where the kernel does not let even root."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts of one's own here")
    return run(["unshare", "-m", "sh", "-ec", f'{script}; exec "$@"', "sh", *command(volume, IMAGE_USER, "migrate")])


MOUNTS: list[tuple[str, Callable[[Path], str]]] = [
    (
        "mount --bind {folder}/fgpr.db {folder}/fgpr.db",
        lambda folder: (
            f"{folder}/fgpr.db is mounted alone: mount its folder. What was written last is in fgpr.db-wal "
            "beside it, and would be lost with the container"
        ),
    ),
    (
        "mount -t tmpfs -o size=512k,uid=10001,mode=0700 none {folder}",
        lambda folder: f"the disk of {folder} is full: uid 10001 needs 1048576 bytes at least, make room",
    ),
    (
        "mount -t tmpfs -o ro,uid=10001,mode=0700 none {folder}",
        lambda folder: f"{folder} is on a disk mounted read-only: uid 10001 has to write in it",
    ),
]


@pytest.mark.parametrize(("script", "said"), MOUNTS, ids=["the file alone", "a full disk", "a read-only disk"])
def test_mounts_that_do_not_do(used: Path, script: str, said: Callable[[Path], str]) -> None:
    folder = used / "database"
    before = (folder / "fgpr.db").read_bytes()
    assert line_of(in_mounts(script.format(folder=folder), used)) == said(folder)
    assert (folder / "fgpr.db").read_bytes() == before


def test_an_agents_volume_of_roots(volume: Path) -> None:
    home = volume / "home"
    home.mkdir(mode=0o700)
    words = ["prior", "show", "--home", str(home)]
    done = run([sys.executable, "-m", "support.as_user", str(IMAGE_USER), "client_agent.cli", *words])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert str(home) in line
