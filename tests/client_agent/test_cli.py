"""The command line: what it says, what it leaves on disk, and how it fails."""

import json
import re
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from client_agent import enrolment, identity, membership, prior_command
from client_agent.api import Api
from client_agent.cli import app
from client_agent.journal import Journal
from fgpr import signatures
from fgpr.errors import Forbidden, Unauthenticated, Unavailable
from fgpr.gp.model import Feature, ModelSpec, Prior, Target
from fgpr.ticket import Ticket
from support import agent_home
from support.client import NAME
from support.federation import Federation
from support.log import Log

ROWS = "cycle,T24\n1,642.0\n2,641.5\n3,642.5\n4,643.0\n5,642.8\n"
ME = "client-00"


@pytest.fixture
def federation():
    return Federation(4)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def ticket(federation):
    return Ticket(
        origin=agent_home.ORIGIN,
        federation=NAME,
        client="new-one",
        role="client",
        secret=bytes(range(32)),
        expires="2031-03-09T21:30:00.000Z",
        service_key=federation.anchors.service_key,
        roster_key=federation.anchors.roster_key,
        suite="x25519",
        weight_cap=None,
    )


def fgpr_agent(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


@pytest.mark.parametrize("way", ["text", "stdin", "file"])
def test_enrol(aggregator, ticket, tmp_path, way):
    text = ticket.to_text()
    (tmp_path / "ticket").write_text(f"{text}\n")
    given = {"text": text, "stdin": "-", "file": f"@{tmp_path / 'ticket'}"}[way]
    home = tmp_path / "deep" / "home"
    done = fgpr_agent("enrol", "--ticket", given, "--home", home, input=text if way == "stdin" else None)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "enrolled as new-one, a client of engines" in done.stdout
    request = aggregator.enrolled["new-one"]
    assert request.identity_key == signatures.public_bytes(identity.load(home))
    assert f"key id {signatures.key_id(request.identity_key)}" in done.stdout
    assert (request.opening_key.message.serial, request.secret) == (1, ticket.secret)
    request.opening_key.verify(request.identity_key)
    assert membership.load(home).service_key == ticket.service_key
    # The secret has done its work and is kept nowhere.
    assert not [path for path in home.rglob("*") if path.is_file() and text.encode()[-40:] in path.read_bytes()]
    again = fgpr_agent("enrol", "--ticket", text, "--home", home)
    assert again.exit_code == 1
    assert "is enrolled as new-one in engines already" in again.stderr


def test_enrol_again_after_a_lost_answer(aggregator, ticket, tmp_path):
    """The aggregator took the ticket, the answer got lost: the same keys ask again."""

    def lose(_):
        raise httpx.ReadError("reset")

    aggregator.after = lose

    def once(*arguments):
        return Api(*arguments, attempts=1)

    with pytest.raises(Unavailable):
        enrolment.enrol(tmp_path / "home", ticket, once)
    aggregator.after = lambda _: None
    done = fgpr_agent("enrol", "--ticket", ticket.to_text(), "--home", tmp_path / "home")
    assert (done.exit_code, len(aggregator.enrolled)) == (0, 1)


def test_enrol_as_a_reader(aggregator, ticket, tmp_path):
    reader = ticket.model_copy(update={"role": "reader"})
    assert fgpr_agent("enrol", "--ticket", reader.to_text(), "--home", tmp_path / "home").exit_code == 0
    assert aggregator.enrolled["new-one"].opening_key is None
    assert not (tmp_path / "home" / "opening-keys").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fgpr1.AAAA", "this is no ticket: not JSON"),
        ("hello", "a ticket begins with 'fgpr1.'"),
        ("@missing.txt", "missing.txt"),
    ],
)
def test_ticket_that_is_none(tmp_path, given, said):
    done = fgpr_agent("enrol", "--ticket", given, "--home", tmp_path / "home")
    assert_one_line(done, said)
    assert not (tmp_path / "home").exists()


def test_a_file_that_is_named_without_its_sign_and_one_with_a_mark(aggregator, ticket, tmp_path):
    file = tmp_path / "me.ticket"
    file.write_text(f"\ufeff{ticket.to_text()}\r\n", encoding="utf-8")
    assert_one_line(fgpr_agent("enrol", "--ticket", file, "--home", tmp_path / "home"), f"say --ticket @{file}")
    assert fgpr_agent("enrol", "--ticket", f"@{file}", "--home", tmp_path / "home").exit_code == 0
    assert "new-one" in aggregator.enrolled


def test_refused_ticket(aggregator, ticket, tmp_path):
    aggregator.refuse["enrolments"] = Unauthenticated("there is no such ticket for this party")
    assert_one_line(fgpr_agent("enrol", "--ticket", ticket.to_text(), "--home", tmp_path / "home"), "no such ticket")
    assert not (tmp_path / "home" / "membership.json").exists()


def test_run_a_round(federation, aggregator, home, rows):
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

    aggregator.before = world
    done = fgpr_agent("run", "--home", home, "--data", rows, "--rounds", 1)
    assert (done.exit_code, done.stderr) == (0, "")
    for said in ("round 1: contributed what 5 rows taught", "round 1: opened the sum", "round 1: published prior 1"):
        assert said in done.stdout


def test_run_ends_when_revoked(aggregator, home, rows):
    aggregator.refuse["rounds/current"] = Forbidden("client-00 was revoked")
    done = fgpr_agent("run", "--home", home, "--data", rows)
    assert done.exit_code == 1
    assert "takes part no more: client-00 was revoked" in done.stdout


def test_run_where_another_agent_runs(home, rows):
    with Journal(home):
        assert_one_line(fgpr_agent("run", "--home", home, "--data", rows), "another agent uses")


def test_prior_show(home):
    done = fgpr_agent("prior", "show", "--home", home)
    assert done.exit_code == 0
    assert "prior 0 of engines" in done.stdout
    shown = json.loads(fgpr_agent("prior", "show", "--json", "--home", home).stdout)
    # The start values of the model: signal sd 1, noise sd 0.5, a quarter of the range of 100 cycles.
    assert list(shown["hyperparameters"].values()) == pytest.approx([1.0, 0.5, 25.0])
    assert (shown["version"], shown["reason"], shown["leaf"], shown["fresh"]) == (0, "initial", 0, True)


@pytest.mark.parametrize(
    ("kernel", "units"),
    [
        ("rbf", ["sd of the target"] * 2 + ["cycles"]),
        ("periodic", ["sd of the target"] * 2 + ["1", "cycles"]),
        ("rational-quadratic + constant", ["sd of the target"] * 2 + ["cycles", "1", "sd of the target"]),
        ("rbf * linear", ["sd of the target"] * 2 + ["cycles"]),
    ],
)
def test_units_of_every_kernel(kernel, units):
    target = Target("T24", "degR", "standardise")
    spec = ModelSpec.with_default_bounds([Feature("cycle", "cycles", 0.0, 100.0)], target, kernel)
    shown = prior_command._units(Prior(spec, spec.initial_theta, 0))
    assert (tuple(shown), list(shown.values())) == (spec.theta_names, units)


@pytest.mark.parametrize("where", ["grid", "file", "stdout"])
def test_predict(home, rows, tmp_path, where):
    at, out = "0:10:5", tmp_path / "out.csv"
    if where == "file":
        at = tmp_path / "at.csv"
        at.write_text("other,cycle\n9,0\n9,5\n9,10\n")
    done = fgpr_agent("predict", "--home", home, "--data", rows, "--at", at, "--out", "-" if where == "stdout" else out)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = (done.stdout if where == "stdout" else out.read_text()).splitlines()
    assert lines[0] == "cycle,mean,sd_latent,sd_observation,lower_95,upper_95"
    assert [line.split(",")[0] for line in lines[1:]] == ["0.0", "5.0", "10.0"]
    assert 641 < float(lines[2].split(",")[1]) < 644


def test_predict_without_a_net(aggregator, home, rows):
    """Standard output is the CSV and nothing else."""
    assert fgpr_agent("prior", "show", "--home", home).exit_code == 0

    def unplugged(_):
        raise httpx.ConnectError("unplugged")

    aggregator.before = unplugged
    done = fgpr_agent("predict", "--home", home, "--data", rows, "--at", "0:10:5", "--out", "-")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 4
    told = r"the aggregator cannot be reached: using prior 0, verified \d+ seconds ago\n"
    assert re.fullmatch(told, done.stderr)


@pytest.mark.parametrize("at", ["0:10", "a:b:c", "0:1:2:3", "nowhere.csv"])
def test_predict_nowhere_is_a_mistake_of_use(home, rows, at):
    done = fgpr_agent("predict", "--home", home, "--data", rows, "--at", at, "--out", "-")
    assert done.exit_code == 2
    assert "START:STOP:STEP" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [("cycle\n1\n", "no column 'T24'"), ("cycle,T24\n1,x\n", "'x'"), (None, "missing.csv")],
)
def test_predict_from_bad_rows(home, tmp_path, text, said):
    path = tmp_path / "missing.csv"
    if text is not None:
        path.write_text(text)
    assert_one_line(fgpr_agent("predict", "--home", home, "--data", path, "--at", "0:1:1", "--out", "-"), said)


def test_prior_of_a_forked_log_is_not_used(federation, home, rows, tmp_path):
    assert fgpr_agent("prior", "show", "--home", home).exit_code == 0
    federation.log = Log()
    federation.publish(federation.prior.model_copy(update={"theta": (0.1, -0.7, 3.0)}))
    out = tmp_path / "out.csv"
    done = fgpr_agent("predict", "--home", home, "--data", rows, "--at", "0:1:1", "--out", out)
    assert_one_line(done, "consistency")
    assert not out.exists()


def test_leave(federation, home):
    assert fgpr_agent("leave", "--home", home, input="n\n").exit_code == 1
    assert federation.revoked == set()
    done = fgpr_agent("leave", "--home", home, "--yes")
    assert (done.exit_code, federation.revoked) == (0, {ME})


def test_home_from_the_environment(home):
    done = fgpr_agent("prior", "show", "--json", env={"FGPR_HOME": str(home)})
    assert json.loads(done.stdout)["federation"] == NAME


@pytest.mark.parametrize(
    "arguments",
    [("run", "--data", "x"), ("prior", "show"), ("predict", "--data", "x", "--at", "0:1:1", "--out", "-"), ("leave",)],
)
def test_home_that_is_not_enrolled(tmp_path, arguments):
    assert_one_line(fgpr_agent(*arguments, "--home", tmp_path / "empty"), "is enrolled nowhere")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help"), ("predict", "--help"), ("prior", "--help")])
def test_help(arguments):
    done = fgpr_agent(*arguments)
    assert done.exit_code in (0, 2)
    assert "Usage:" in done.stdout + done.stderr


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "client_agent.cli", "run", "--help"], capture_output=True, text=True, check=True
    )
    for option in ("--home", "--data", "--unit", "--target", "--rounds", "--min-cohort", "--gamma", "--accept-carries"):
        assert option in done.stdout
    assert "observer" not in done.stdout


def assert_one_line(done, said):
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("fgpr-agent: ")
    assert said in done.stderr
