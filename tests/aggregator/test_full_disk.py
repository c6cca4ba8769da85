"""Threat 20: the disk of the database fills up while the aggregator serves; later there is room again.

The disk is a real one of a few megabytes, mounted for one process only; without root the test is skipped.
"""

import os
import tempfile
from pathlib import Path

import pytest

from support.mounts import told_by

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="mounts take root")]

MOUNT = 'mount -t tmpfs -o size=4m,mode=0700 none "$1"; shift; exec "$@"'

PROGRAM = """
import json, sys
from pathlib import Path

import httpx

from fgpr.errors import Unavailable
from support.aggregator import served, wait_until

folder = Path(sys.argv[1])
told = {}
with served(folder, keeps_deadlines=False) as aggregator:
    parties = aggregator.enrol(4)
    aggregator.advance()
    bodies = [party.contribution() for party in parties]
    parties[0].send_contribution(bodies[0], 1)
    ready = aggregator.settings.origin + "/readyz"
    told["before"] = httpx.get(ready).status_code
    filler, before = folder / "filler", aggregator.dump()
    try:
        with filler.open("wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
    except OSError as error:
        told["filled"] = error.strerror
    try:
        # What space the log still has is used up at last.
        for _ in range(200):
            parties[0].send_contribution(bodies[0], 1)
    except Unavailable:
        pass
    refused = []
    for party, body in zip(parties[1:], bodies[1:]):
        try:
            party.send_contribution(body, 1)
        except Unavailable:
            refused.append(party.transport.answers[-1][0])
    told["refused"] = refused
    # One look serves all who ask within a second.
    wait_until(lambda: httpx.get(ready).status_code == 503)
    answer = httpx.get(ready)
    told["while"], told["reason"] = answer.status_code, answer.json()["detail"]
    told["alive"] = httpx.get(aggregator.settings.origin + "/livez").status_code
    told["stored"] = len(aggregator.dump()["contributions"])
    filler.unlink()
    wait_until(lambda: httpx.get(ready).status_code == 200)
    for party, body in zip(parties[1:], bodies[1:]):
        party.send_contribution(body, 1)
    for party in parties:
        party.open()
    told["after"] = aggregator.prior().version
print(json.dumps(told))
"""


def test_a_disk_that_fills_up_is_a_503_and_not_ready_and_it_recovers() -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = told_by(PROGRAM, Path(folder), "sh", "-ec", MOUNT, "sh", folder, seconds=120)
    assert told.pop("reason").startswith("database: the database does not answer")
    assert told == {
        "before": 200,
        "filled": "No space left on device",
        "refused": [503, 503, 503],
        "while": 503,
        "alive": 200,
        "stored": 1,
        "after": 1,
    }
