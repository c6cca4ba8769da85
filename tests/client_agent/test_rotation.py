"""An identity key is replaced: crash-safe at each step, and over a real aggregator."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from aggregator.service.inspection import verify_database
from client_agent import agent, enrolment, identity, key_command, membership, published_prior, rotation
from client_agent.api import Api
from client_agent.cli import app
from client_agent.events import Event, Kind
from client_agent.opening_keys import OpeningKeys
from client_agent.participate import participate
from fgpr import signatures
from fgpr.auditlog.entries import KeyReplaced
from fgpr.errors import Conflict, CryptographicError, EncodingError, LocalProtocolError, Unavailable
from fgpr.federated.accounting import Budget
from fgpr.rotation import RotationReceipt
from fgpr.secagg.history import Floors
from fgpr.secagg.planning import AggregationRules
from support.aggregator import Aggregator, served, settings_of
from support.client import NAME

LIVES = """
import hashlib, itertools, json, os, signal, sys
from pathlib import Path
from client_agent import identity, rotation
from fgpr import signatures
from fgpr.errors import Forbidden
from fgpr.rotation import RotationReceipt, RotationRequest

folder, when = Path(sys.argv[1]), sys.argv[2]
real = {name: getattr(os, name) for name in ("open", "mkdir", "fsync", "link", "replace", "unlink", "rmdir")}

class Aggregator:
    '''Knows one key, and the body that replaced the one before; its memory outlives every process.'''

    def __init__(self, path):
        self.path = path

    def write(self, state):
        descriptor = real["open"](self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, json.dumps(state).encode())
        os.close(descriptor)

    def read(self):
        descriptor = real["open"](self.path, os.O_RDONLY)
        state = json.loads(os.read(descriptor, 10_000))
        os.close(descriptor)
        return state

    def take(self, key, body):
        state, digest = self.read(), hashlib.sha256(body).hexdigest()
        mine = signatures.public_bytes(key).hex()
        change = RotationRequest.decode(body).signed.change
        if mine == state["key"]:
            assert change.old_key.hex() == mine
            self.write({"key": change.new_key.hex(), "old": mine, "body": digest})
        elif (mine, digest) != (state["old"], state["body"]):
            raise Forbidden("replaced")
        return RotationReceipt(holder="me", key_id=signatures.key_id(change.new_key)).encode()

def life(home, aggregator, fatal):
    child = os.fork()
    if child == 0:
        calls = itertools.count(1)
        def fate(act):
            def call(*args, **options):
                mine = next(calls) == fatal
                if mine and when == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    return act(*args, **options)
                finally:
                    if mine:
                        os.kill(os.getpid(), signal.SIGKILL)
            return call
        for name, act in real.items():
            setattr(os, name, fate(act))
        rotation.rotate(home, "engines", "me", fate(aggregator.take))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0

for fatal in itertools.count(1):
    home = folder / f"home-{fatal}"
    key = signatures.public_bytes(identity.create(home)).hex()
    aggregator = Aggregator(str(folder / f"aggregator-{fatal}"))
    aggregator.write({"key": key, "old": "", "body": ""})
    killed = life(home, aggregator, fatal)
    again = life(home, aggregator, 0) if killed else False
    print(json.dumps({
        "killed": killed, "again": again,
        "agree": signatures.public_bytes(identity.load(home)).hex() == aggregator.read()["key"] != key,
        "files": sorted(path.name for path in home.iterdir() if not path.name.startswith(".")),
    }))
    if not killed:
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_each_step(tmp_path: Path, when: str) -> None:
    """kill -9 at every call that touches the disk, and at the request; the same command again ends it well."""
    done = subprocess.run(
        [sys.executable, "-c", LIVES, str(tmp_path), when], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lives = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lives) > 15
    assert [each["killed"] for each in lives] == [True] * (len(lives) - 1) + [False]
    for each in lives:
        assert each["agree"]
        assert not each["again"]
        assert each["files"] == ["identity.pem", "lock"]


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as made:
        yield made


@pytest.fixture
def home(aggregator: Aggregator, tmp_path: Path) -> Path:
    """The home of a client, enrolled."""
    enrolment.enrol(tmp_path / "home", aggregator.invite("bench-1"), connecting(aggregator))
    return tmp_path / "home"


def connecting(aggregator: Aggregator, attempts: int = 1) -> enrolment.Connect:
    """Connections with the aggregator's clock."""

    def connect(origin: str, federation: str, key: Ed25519PrivateKey) -> Api:
        return Api(origin, federation, key, clock=aggregator.clock, attempts=attempts)

    return connect


def api(aggregator: Aggregator, home: Path) -> Api:
    known = membership.load(home)
    return connecting(aggregator)(known.origin, known.federation, identity.load(home))


def test_the_agent_goes_on_with_the_new_key(aggregator: Aggregator, home: Path) -> None:
    old = identity.load(home)
    new = enrolment.rotate_key(home, connecting(aggregator))
    assert signatures.public_bytes(identity.load(home)) == signatures.public_bytes(new)
    assert signatures.public_bytes(new) != signatures.public_bytes(old)
    assert OpeningKeys(home).serials() == (1, 2)
    others = aggregator.enrol(3)
    aggregator.advance()
    told: list[Kind] = []
    rows = {"cycle": [1.0, 2.0, 3.0, 4.0, 5.0], "T24": [642.0, 641.5, 642.5, 643.0, 642.8]}
    for other in others:
        other.contribute()
    with api(aggregator, home) as connection:

        def on_event(event: Event) -> None:
            told.append(event.kind)
            if event.kind is Kind.OPENED:
                for other in others:
                    other.open()

        participate(home, lambda _: rows, api=connection, rounds=1, on_event=on_event, poll_seconds=0, pause=0.0)
        assert Kind.CONTRIBUTED in told
        assert Kind.OPENED in told
        assert published_prior.fetch(home, connection).record.version == 1


def test_a_declared_weight_is_signed_by_the_new_key(tmp_path: Path, database_url: str) -> None:
    rules = AggregationRules(draw="weights", weighting="uniform", invited_cap=5, weight_cap=1_000)
    with served(tmp_path, settings_of(rules=rules), keeps_deadlines=False, url=database_url) as made:
        home = tmp_path / "home"
        enrolment.enrol(home, made.invite("bench-1"), connecting(made), rows=7)
        for _ in range(2):
            new = enrolment.rotate_key(home, connecting(made))
        leaf = made.last("rotated")
        assert isinstance(leaf, KeyReplaced)
        assert leaf.declared is not None
        leaf.declared.verify(signatures.public_bytes(new))
        assert leaf.declared.message.weight == 7
        verify_database(made.context.database, made.anchors())


def test_in_a_running_round_it_sits_out(aggregator: Aggregator, home: Path) -> None:
    aggregator.enrol(3)
    aggregator.advance()
    enrolment.rotate_key(home, connecting(aggregator))
    with (
        api(aggregator, home) as connection,
        agent.at_home(
            home,
            connection,
            floors=Floors(),
            budget=Budget(),
            rng=None,
            random_bytes=aggregator.context.random_bytes,
        ) as present,
    ):
        roster = present.federation.roster(1).message
        assert not present.named_by(roster)


def test_a_lost_answer_and_an_aggregator_that_is_away(aggregator: Aggregator, home: Path) -> None:
    old = identity.load(home)

    def lost(origin: str, federation: str, key: Ed25519PrivateKey) -> Api:
        connection = connecting(aggregator)(origin, federation, key)
        put = connection.put

        def put_and_lose(path: str, body: bytes) -> bytes:
            put(path, body)
            raise Unavailable("the answer was lost")

        connection.put = put_and_lose
        return connection

    with pytest.raises(Unavailable):
        enrolment.rotate_key(home, lost)
    # The aggregator knows the new key, the home still has the old one: nothing is done with either meanwhile.
    with api(aggregator, home) as connection, pytest.raises(LocalProtocolError, match="rotate-key"):
        participate(home, {}, api=connection)
    assert signatures.public_bytes(identity.load(home)) == signatures.public_bytes(old)
    new = enrolment.rotate_key(home, connecting(aggregator))
    assert signatures.public_bytes(new) != signatures.public_bytes(old)
    assert aggregator.kinds().count("rotated") == 1
    assert sorted(path.name for path in home.glob("*.json")) == ["membership.json"]


@pytest.mark.parametrize("refusal", [Conflict, EncodingError])
def test_refused_for_good_the_old_key_stays(tmp_path: Path, refusal: type[Exception]) -> None:
    home = tmp_path / "home"
    old = identity.create(home)

    def send(_: Ed25519PrivateKey, __: bytes) -> bytes:
        raise refusal("no")

    with pytest.raises(refusal):
        rotation.rotate(home, NAME, "me", send)
    assert signatures.public_bytes(identity.load(home)) == signatures.public_bytes(old)
    rotation.check_settled(home)
    assert not (home / rotation.NEXT_NAME).exists()


def test_what_is_damaged_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    identity.create(home)
    bodies: list[bytes] = []

    def send(_: Ed25519PrivateKey, body: bytes) -> bytes:
        bodies.append(body)
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        rotation.rotate(home, NAME, "me", send)
    with pytest.raises(Unavailable):
        rotation.rotate(home, NAME, "me", send)
    assert bodies[0] == bodies[1]
    receipt = RotationReceipt(holder="me", key_id="another")
    with pytest.raises(Exception, match="another key"):
        rotation.rotate(home, NAME, "me", lambda _, __: receipt.encode())
    kept = (home / rotation.NEXT_NAME).read_bytes()
    (home / rotation.NEXT_NAME).write_bytes((home / identity.FILE_NAME).read_bytes())
    with pytest.raises(LocalProtocolError, match="is not the key"):
        rotation.rotate(home, NAME, "me", send)
    (home / rotation.NEXT_NAME).unlink()
    with pytest.raises(CryptographicError):
        rotation.rotate(home, NAME, "me", send)
    assert len(bodies) == 2
    (home / rotation.NEXT_NAME).write_bytes(kept)
    (home / rotation.REQUEST_NAME).write_bytes(b"{}")
    with pytest.raises(EncodingError, match="damaged"):
        rotation.rotate(home, NAME, "me", send)


def test_by_the_command_line(aggregator: Aggregator, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_command, "Api", lambda *given, **_: connecting(aggregator)(*given))
    result = CliRunner().invoke(app, ["rotate-key", "--home", str(home)])
    assert result.exit_code == 0, result.output
    assert signatures.key_id(signatures.public_bytes(identity.load(home))) in result.output
    result = CliRunner().invoke(app, ["rotate-key", "--home", str(home.parent / "nowhere")])
    assert result.exit_code == 1
    assert "enrolled nowhere" in result.stderr
