"""One trial: clients contribute, the aggregator is killed with kill -9 meanwhile, and started again at once."""

import hashlib
import threading
import time
from dataclasses import dataclass

import httpx

from aggregator.storage import contributions
from fgpr.errors import FgprError
from fgpr.rest import Receipt
from fgpr.secagg.stages import Stage
from load.processes import Replica
from support.client import NAME
from support.party import Party
from support.process_site import PATIENCE, ProcessSite, forget

LOOK_SECONDS = 0.01


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes:
        seconds: from the kill to the first answer that says it can work.
        acknowledged: contributions that had their receipt before the kill.
        lost: those of them that the database does not hold afterwards.
        published: whether the round ended as it should.
    """

    seconds: float
    acknowledged: int
    lost: int
    published: bool


def trial(site: ProcessSite, number: int, delay: float) -> Trial:
    """Play a round in which the process is killed `delay` seconds after the first contribution went out."""
    site.wait_for(number, Stage.CONTRIBUTING)
    bodies = {party.name: party.contribution() for party in site.parties}
    receipts: dict[str, Receipt] = {}

    def contribute(party: Party) -> None:
        try:
            receipts[party.name] = party.send_contribution(bodies[party.name], number)
        except FgprError:
            # Nobody answered: it is sent again when somebody does.
            return

    threads = [threading.Thread(target=contribute, args=(party,)) for party in site.parties]
    for thread in threads:
        thread.start()
    time.sleep(delay)
    (replica,) = site.replicas
    replica.kill()
    killed = time.monotonic()
    replica.start()
    seconds = _ready(replica) - killed
    for thread in threads:
        thread.join()
    lost = sum(not _held(site, number, name, body) for name, body in bodies.items() if name in receipts)
    acknowledged = len(receipts)
    for party in site.parties:
        receipts[party.name] = party.send_contribution(bodies[party.name], number)
    site.wait_for(number, Stage.OPENING)
    for party in site.parties:
        if site.stage(number) is Stage.OPENING:
            party.open()
    site.wait_for(number, Stage.PUBLISHED)
    published = site.stage(number) is Stage.PUBLISHED
    for party in site.parties:
        forget(party)
    return Trial(seconds, acknowledged, lost, published)


def _ready(replica: Replica) -> float:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{replica.port}/readyz").status_code == 200:
                return time.monotonic()
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, "it is not ready again"
        time.sleep(LOOK_SECONDS)


def _held(site: ProcessSite, number: int, name: str, body: bytes) -> bool:
    with site.context.database.read() as connection:
        kept = contributions.read_body_digests(connection, NAME, number, [name])
    return kept == {name: hashlib.sha256(body).digest()}
