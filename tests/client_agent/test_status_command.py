"""`fgpr-agent status` and what `run` leaves for it: beside a running agent, after it, and without a net."""

import json
from datetime import UTC, datetime

import pytest

from client_agent import lock, status_file
from client_agent.status_command import gather
from client_agent.status_file import Status
from support import agent_home
from support.agent_command import fgpr_agent
from support.federation import Federation

ME = "client-00"
ROWS = "cycle,T24\n1,642.0\n2,641.5\n3,642.5\n4,643.0\n5,642.8\n6,\n"


@pytest.fixture
def federation():
    return Federation(4)


def play(federation):
    """The others do what is theirs when the agent asks."""

    def world(_):
        if not federation.rounds:
            agent_home.plan(federation)
        state = federation.now
        if state.stage == "contributing" and ME in state.contributions:
            for name in federation.names[1:]:
                federation.contribute(name, federation.prior.vector(), 5)
            federation.close()
        elif state.stage == "opening" and ME in state.openings:
            for name in federation.names[1:]:
                federation.open(name)
            federation.finish()

    return world


def status(home):
    done = fgpr_agent("status", "--json", "--home", home)
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_before_the_first_round(home):
    told = status(home)
    assert (told["client"], told["running"], told["rounds"]["served"]) == (ME, False, 0)
    assert told["prior"] == {"newest_in_a_plan": 0, "fetched": {"version": None, "age_seconds": None}}
    assert (told["sent"]["count"], told["checkpoint"], told["privacy"]["epsilon"]) == (0, None, 0.0)
    assert told["floors"]["min_cohort"] == 3


def test_while_a_round_is_served_and_afterwards_without_a_net(federation, aggregator, home, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    (home / "agent.toml").write_text(
        "[data]\nfile = '../rows.csv'\n[floors]\ngamma = 0.1\nmin_cohort = 3\ncarries = 0\n"
    )
    seen = []
    world = play(federation)

    def look(number):
        if federation.rounds and ME in federation.now.contributions:
            seen.append(gather(home, None, datetime.now(UTC)))
        world(number)

    aggregator.before = look
    done = fgpr_agent("run", "--home", home, "--rounds", 1, "--gamma", 0.2)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "5 of 6 rows are used; dropped 1 rows without a value (T24: 1)" in done.stdout
    # Of file and options the stricter: gamma of the option, carries of the file.
    assert (seen[-1]["running"], seen[-1]["floors"]["gamma"], seen[-1]["floors"]["carries"]) == (True, 0.2, 0)
    assert seen[-1]["floors"]["from"] == "the running agent"
    assert [event["kind"] for event in seen[-1]["events"]][:2] == ["checked", "contributed"]

    aggregator.before = lambda _: pytest.fail("a status asked the aggregator")
    told = status(home)
    assert (told["running"], told["process"], told["rounds"]["served"], told["rounds"]["last_ended"]) == (
        False,
        None,
        1,
        1,
    )
    put = dict(aggregator.puts)
    assert [(body["what"], body["round"], body["size"]) for body in told["sent"]["newest"]] == [
        ("contribution", 1, len(put[f"rounds/1/contributions/{ME}"])),
        ("opening", 1, len(put[f"rounds/1/openings/{ME}"])),
    ]
    assert told["sent"]["bytes"] == sum(map(len, put.values()))
    assert told["checkpoint"]["size"] == json.loads((home / "checkpoint.json").read_text())["size"]
    assert (told["data"]["used"], told["data"]["missing"]) == (5, {"T24": 1})
    shown = fgpr_agent("status", "--home", home).stdout
    for said in ("is not running", "1 served", "2 bodies", "gamma 0.1", "5 of 6 rows", "published prior 1"):
        assert said in shown


def test_the_age_of_the_prior(home):
    assert fgpr_agent("prior", "show", "--home", home).exit_code == 0
    fetched = status(home)["prior"]["fetched"]
    assert fetched["version"] == 0
    assert 0 <= fetched["age_seconds"] < 60


def test_looking_takes_nobody_s_turn(tmp_path):
    path = tmp_path / "lock"
    assert not lock.is_held(path)
    with lock.held(path):
        assert lock.is_held(path)
        assert lock.is_held(path)
    assert not lock.is_held(path)
    with lock.held(path):
        pass


def test_a_damaged_status_is_begun_anew_and_a_full_disk_stops_nothing(home, monkeypatch):
    (home / status_file.FILE_NAME).write_bytes(b'{"served": -1}')
    assert status_file.read(home) == Status()
    assert status(home)["rounds"]["served"] == 0

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("client_agent.durable_file.replace", full)
    status_file.StatusKeeper(home, lambda: datetime.now(UTC), {})


def test_a_home_that_is_none(tmp_path):
    done = fgpr_agent("status", "--home", tmp_path / "nowhere")
    assert (done.exit_code, "is enrolled nowhere" in done.stderr) == (1, True)
