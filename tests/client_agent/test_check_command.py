"""`fgpr-agent check`: what it says before and after joining, and its exit codes."""

import json
import threading

import httpx
import pytest

from fgpr.auditlog.entries import FederationCreated
from fgpr.federated.federation import Federation as Settings
from fgpr.gp.model import Feature, ModelSpec, Target
from fgpr.ticket import Ticket
from support.agent_command import fgpr_agent
from support.agent_home import ORIGIN, AgentHome, InMemory
from support.client import NAME
from support.federation import Federation

ROWS = "cycle,T24\n" + "".join(f"{cycle},{642 + (cycle % 3) + cycle / 10}\n" for cycle in range(1, 9))
SPEC = ModelSpec.with_default_bounds((Feature("cycle", "1", 0, 100),), Target("T24", "degR", "standardise"), "rbf")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def settings(tmp_path, **changes):
    found = {"name": "engines", "model": SPEC.to_json(), "training": {"steps": 2}} | changes
    path = tmp_path / "federation.json"
    path.write_text(json.dumps(Settings.from_settings(found).to_json()))
    return path


def check(tmp_path, *arguments):
    return fgpr_agent("check", *arguments, "--home", tmp_path / "home")


def test_before_joining_by_the_federations_settings(tmp_path, rows):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "agent.toml").write_text("[columns.T24]\nunit = 'degR'\n")
    with rows.open("a") as file:
        file.write("9,\n500,640\n10,64")
    done = check(tmp_path, rows, "--model", settings(tmp_path))
    assert (done.exit_code, done.stderr) == (0, "")
    for said in (
        "8 of 10 rows are used",
        "dropped 1 rows without a value (T24: 1)",
        "dropped 1 rows out of range (cycle: 1)",
        "the last line has no line end",
        "scaled:     T24 by its mean",
        "clipped:    nothing",
        "sent:       3 numbers of the kernel and a weight of 8, masked",
        "never sent: rows",
    ):
        assert said in done.stdout
    assert not (tmp_path / "home" / "membership.json").exists()


def test_json_and_a_model_alone(tmp_path, rows):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(SPEC.to_json()))
    done = check(tmp_path, rows, "--model", path, "--json")
    told = json.loads(done.stdout)
    assert (told["contributes"], told["reason"], told["sent"]["rows"]) == (True, None, 0)
    assert (told["data"]["used"], told["sent"]["numbers"], told["clipped"]["clip"]) == (8, 3, None)
    values = [float(line.split(",")[1]) for line in ROWS.splitlines()[1:]]
    assert told["scaling"]["mean"] == pytest.approx(sum(values) / 8)


def test_the_clip_of_differential_privacy(tmp_path, rows):
    rules = {"weighting": "uniform", "privacy": {"clip": 0.001, "noise": 2.0}}
    done = check(tmp_path, rows, "--model", settings(tmp_path, aggregation=rules), "--json")
    told = json.loads(done.stdout)
    assert (told["clipped"]["clip"], told["clipped"]["shrunk"], told["sent"]["weight"]) == (0.001, True, 1)
    # Two steps of Adam at a rate of 0.1 move each of three numbers by about 0.2.
    assert 0.1 < told["clipped"]["step"] < 0.4
    shown = check(tmp_path, rows, "--model", settings(tmp_path, aggregation=rules)).stdout
    assert "would be shrunk to it (0.001); noise is added" in shown


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("cycle,T24\n1,5\n2,5\n3,5\n4,5\n", 3, "constant target"),
        ("cycle,T24\n1,5\n2,6\n", 3, "too few rows: 2"),
        ("cycle,T42\n1,5\n2,6\n", 1, "did you mean 'T42'?"),
        ("cycle,T24\n1,inf\n", 1, "not a finite number"),
    ],
)
def test_exit_codes(tmp_path, text, code, said):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    done = check(tmp_path, path, "--model", settings(tmp_path))
    assert done.exit_code == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("text", ["", "{", "x =", '{"features": 1}', '{"name": "a b"}'])
def test_models_that_are_none(tmp_path, rows, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    done = check(tmp_path, rows, "--model", path)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"fgpr-agent: {path}: ")


def test_no_data_and_two_models_are_mistakes(tmp_path, rows):
    done = check(tmp_path, "--model", settings(tmp_path))
    assert (done.exit_code, "no data: name a file" in done.stderr) == (1, True)
    assert check(tmp_path, rows, "--model", rows, "--ticket", "-").exit_code == 2
    assert "is enrolled nowhere" in check(tmp_path, rows).stderr


def created(**rules):
    """The leaf that begins a federation in the audit log, alone on its page."""
    found = {"name": NAME, "model": SPEC.to_json(), "training": {"steps": 2}, "aggregation": rules}
    leaf = FederationCreated(federation=NAME, settings=Settings.from_settings(found), roster_key=bytes(32))
    return lambda page: page.model_copy(update={"leaves": (leaf.encode(),)})


@pytest.fixture
def aggregator(monkeypatch):
    connection = InMemory(Federation(4), "client-00", threading.Event())
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: connection.handle(request))
    return connection


def test_before_joining_by_a_ticket_that_stays_unused(tmp_path, rows, aggregator):
    aggregator.change["/v1/log/entries"] = created(weighting="uniform", privacy={"clip": 0.001, "noise": 2.0})
    ticket = Ticket(
        origin=ORIGIN,
        federation=NAME,
        client="new-one",
        role="client",
        secret=bytes(range(32)),
        expires="2031-03-09T21:30:00.000Z",
        service_key=aggregator.federation.anchors.service_key,
        roster_key=aggregator.federation.anchors.roster_key,
        suite="x25519",
        weight_cap=None,
    )
    done = fgpr_agent("check", rows, "--ticket", "-", "--home", tmp_path / "home", input=ticket.to_text())
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"from the audit log of {ORIGIN}" in done.stdout
    assert "would be shrunk to it (0.001)" in done.stdout
    assert (aggregator.enrolled, (tmp_path / "home").exists()) == ({}, False)
    lying = ticket.model_copy(update={"service_key": aggregator.federation.anchors.roster_key})
    done = fgpr_agent("check", rows, "--ticket", lying.to_text(), "--home", tmp_path / "home")
    assert (done.exit_code, "did not sign" in done.stderr) == (1, True)


def test_the_settings_of_the_log_are_kept_for_times_without_a_net(tmp_path, rows, aggregator):
    AgentHome(aggregator.federation, "client-00", tmp_path / "home")
    aggregator.change["/v1/log/entries"] = created(weighting="classes", weight_unit=2)
    assert json.loads(check(tmp_path, rows, "--json").stdout)["sent"]["weight"] == 4

    def unplugged(_):
        raise httpx.ConnectError("unplugged")

    aggregator.before = unplugged
    assert json.loads(check(tmp_path, rows, "--json").stdout)["sent"]["weight"] == 4


def test_after_enrolment_from_the_home_with_and_without_a_net(tmp_path, rows, aggregator):
    AgentHome(aggregator.federation, "client-00", tmp_path / "home")
    first = check(tmp_path, rows)
    assert (first.exit_code, "from prior 0 of engines" in first.stdout) == (0, True)

    def unplugged(_):
        raise httpx.ConnectError("unplugged")

    aggregator.before = unplugged
    again = check(tmp_path, rows)
    assert (again.exit_code, "prior 0 of engines, fetched before" in again.stdout) == (0, True)
    assert aggregator.puts == []
