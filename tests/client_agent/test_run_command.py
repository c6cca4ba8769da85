"""`fgpr-agent run` with the owner's settings: floors that nobody lowers, mapped columns, mistakes of use."""

import threading

import httpx
import pytest

from fgpr import signatures
from fgpr.errors import Forbidden
from support import agent_home
from support.agent_command import fgpr_agent
from support.agent_home import AgentHome, InMemory
from support.federation import Federation

ME = "client-00"


@pytest.fixture
def aggregator(monkeypatch):
    connection = InMemory(Federation(4), ME, threading.Event())
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: connection.handle(request))
    # Where nothing changes, an agent breathes between two looks; these have nothing to wait for.
    monkeypatch.setattr("client_agent.participate._BREATH", 0.0)
    agent_home.plan(connection.federation)
    return connection


@pytest.fixture
def home(aggregator, tmp_path):
    found = AgentHome(aggregator.federation, ME, tmp_path / "home").home
    (tmp_path / "rows.csv").write_text("Flight,T_out\n1,86.0\n2,85.5\n3,86.5\n4,87.0\n5,86.8\n")
    return found


def run_for_a_while(aggregator, home, toml, *options):
    """What `run` says and sends until the aggregator ends it, by a revocation, once the plan was dealt with."""
    (home / "agent.toml").write_text("[data]\nfile = '../rows.csv'\n" + toml)
    looks = 0

    def end(_):
        nonlocal looks
        looks += 1
        if looks > 12 or aggregator.puts:
            aggregator.refuse["rounds/current"] = Forbidden("the test is over")

    aggregator.before = end
    done = fgpr_agent("run", "--home", home, *options)
    assert (done.exit_code, done.stderr) == (1, "")
    return done.stdout


MAPPED = "[columns.cycle]\nfrom = 'Flight'\n[columns.T24]\nfrom = 'T_out'\nunit = 'degC'\n"


def test_columns_and_units_of_the_owner(aggregator, home):
    said = run_for_a_while(aggregator, home, MAPPED)
    assert "5 of 5 rows are used; T24 converted from degC to degR: 0 becomes 491.67" in said
    assert [path for path, _ in aggregator.puts] == [f"rounds/1/contributions/{ME}"]


@pytest.mark.parametrize(
    ("toml", "options", "said"),
    [
        ("[floors]\nmin_cohort = 4\n", ("--min-cohort", 3), "check 9 of a plan: min_cohort 3 is below this client's 4"),
        ("[floors]\nmin_cohort = 3\n", ("--min-cohort", 4), "check 9 of a plan: min_cohort 3 is below this client's 4"),
        ("[floors]\ngamma = 0.5\n", ("--gamma", 0.0), "gamma 0.2 is below this client's 0.5"),
        ("[floors]\nepsilon = 1.0\n", (), "the budget is epsilon 1"),
        ("[floors]\nepsilon = 1.0\n", ("--epsilon", 1000), "the budget is epsilon 1;"),
        (f"[floors]\nrequired_peers = ['{'A' * 43}']\n", (), "lacks peers that this client requires"),
        ("[floors]\naccepted_peers = []\n", (), "clients take part that this client does not accept: client-01"),
    ],
)
def test_a_floor_of_the_owner_holds_whatever_the_plan_and_the_other_place_say(aggregator, home, toml, options, said):
    assert said in run_for_a_while(aggregator, home, MAPPED + toml, *options)
    assert aggregator.puts == []
    assert not list(home.glob("rounds/*/contribution.json"))


@pytest.mark.parametrize(
    ("floors", "said"),
    [("min_cohort = 4", "min_cohort 3 is below this client's 4"), ("noise = 0.5", "it adds no noise")],
)
def test_a_floor_that_was_raised_after_the_plan_was_checked_holds(aggregator, home, floors, said):
    rows = home.parent / "rows.csv"
    kept = rows.rename(home.parent / "away.csv")
    assert "contributes nothing" in run_for_a_while(aggregator, home, MAPPED)
    kept.rename(rows)
    del aggregator.refuse["rounds/current"]
    told = run_for_a_while(aggregator, home, MAPPED + f"[floors]\n{floors}\n")
    assert f"contributes nothing: check {9 if 'cohort' in floors else 16} of a plan: {said}" in told
    assert aggregator.puts == []


def test_the_peers_that_the_owner_pinned(aggregator, home):
    keys = [
        signatures.key_id(entry.identity_key)
        for entry in aggregator.federation.roster.message.clients
        if entry.client != ME
    ]
    run_for_a_while(aggregator, home, MAPPED + f"[floors]\nrequired_peers = {keys}\naccepted_peers = {keys}\n")
    assert [path for path, _ in aggregator.puts] == [f"rounds/1/contributions/{ME}"]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[floors]\nmin_cohrt = 4\n", "did you mean 'min_cohort'?"),
        ("[data]\nfile = 'x'\n[connection]\nproxy = 'http://h:port'\n", "no proxy can be reached by the address"),
        ("", "no data: name a file with --data"),
    ],
)
def test_settings_that_are_refused_end_it_before_anything_is_asked(aggregator, home, toml, said):
    (home / "agent.toml").write_text(toml)
    done = fgpr_agent("run", "--home", home)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("fgpr-agent: ")
    assert said in done.stderr
    assert aggregator.requests == 0


@pytest.mark.parametrize("options", [("--epsilon", 0), ("--epsilon", 1, "--delta", 1), ("--min-cohort", 2)])
def test_floors_that_are_none_are_mistakes_of_use(home, options):
    assert fgpr_agent("run", "--home", home, "--data", "x", *options).exit_code == 2
