"""haproxy.cfg: its numbers against the aggregator's, and its own answers."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aggregator.routes import rounds
from aggregator.settings import Settings
from client_agent.problems import KINDS
from fgpr.errors import TooLarge, Unavailable, UnknownResource
from support import certificates
from support.compose import DOCKER, services

TEXT = (DOCKER / "haproxy.cfg").read_text(encoding="utf-8")
SCALE = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 0.001}


def seconds(pattern: str) -> float:
    ((number, unit),) = re.findall(rf"{pattern} ([0-9]+)([a-z]*)", TEXT)
    return float(number) * SCALE[unit]


def test_no_timeout_cuts_off_what_the_aggregator_lets_wait() -> None:
    settings = Settings.model_construct()
    for side in ("client", "server"):
        assert seconds(f"timeout {side}") >= rounds.LONGEST_WAIT + 30
        assert seconds(f"timeout {side}") > settings.write_seconds
    assert seconds("timeout http-request") >= settings.head_seconds
    # uvicorn closes an idle connection after 5 s; HAProxy is to be first.
    assert seconds("pool-purge-delay") < 5


def test_limits_are_those_of_the_aggregator() -> None:
    settings = Settings.model_construct()
    (limit,) = re.findall(r"req\.body_size gt ([0-9]+)", TEXT)
    assert int(limit) == max(rounds.CONTRIBUTION_LIMIT, rounds.COMPLAINT_LIMIT)
    (each,) = re.findall(r"default-server .*\bmaxconn ([0-9]+)", TEXT)
    (most,) = re.findall(r"^    maxconn ([0-9]+)", TEXT, re.MULTILINE)
    servers = re.findall(r"^    server (\S+) (\S+):([0-9]+)$", TEXT, re.MULTILINE)
    assert int(each) < settings.connections
    assert int(most) > len(servers) * int(each)
    replicas = sorted(name for name in services() if name.startswith("aggregator-"))
    assert servers == [(name, name, "8000") for name in replicas]


def test_a_request_that_may_have_arrived_is_not_sent_twice() -> None:
    """Its nonce is spent once it had an effect, and the second answer would be a 401 that no agent tries again."""
    assert re.findall(r"^    retry-on (.*)$", TEXT, re.MULTILINE) == ["conn-failure"]


def test_its_own_answers_are_problems_that_agents_know() -> None:
    kinds = {}
    for status, document in re.findall(r"status ([0-9]+) content-type application/problem\+json string '(.*?)'", TEXT):
        told = json.loads(document)
        assert told["status"] == int(status)
        kinds[int(status)] = KINDS[told["type"]]
    assert kinds == {413: TooLarge, 404: UnknownResource, 503: Unavailable, 504: Unavailable}


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="no haproxy is installed")
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("prefix", ["/fgpr", ""])
def test_the_configuration_is_valid(tmp_path: Path, tls: bool, prefix: str) -> None:
    environment = {"PATH": os.environ["PATH"], "FGPR_PREFIX": prefix}
    if tls:
        certificate, key = certificates.self_signed(tmp_path)
        (tmp_path / "both.pem").write_bytes(certificate.read_bytes() + key.read_bytes())
        environment["PROXY_CERTIFICATE"] = str(tmp_path / "both.pem")
    words = ["haproxy", "-c", "-f", str(DOCKER / "haproxy.cfg")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Only that the names of the replicas are known to nobody here.
    told = [line for line in done.stderr.splitlines() if "[WARNING]" in line or "[ALERT]" in line]
    assert all("could not resolve address 'aggregator-" in line for line in told)
