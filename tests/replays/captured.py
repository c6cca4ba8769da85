"""Every kind of request that has an effect, as whoever stands on the way writes it down, to be sent again."""

import re
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import main
from support.aggregator import listening
from support.client import NAME
from support.party import Party, Recorded
from support.replicas import Balanced, Replicas
from support.staff import Staff

CLIENTS = 6
PEOPLE = ("olga", "otto", "odd")
"""Operators: one acts, one replaces its key, one leaves."""

_SIGNED = re.compile(r'keyid="(?P<key>[^"]+)".*nonce="(?P<nonce>[^"]+)"')


@dataclass
class Captured:
    """Signed requests of a federation with two replicas; all of them were answered, and had their effect.

    Attributes:
        requests: as they were sent.
    """

    replicas: Replicas
    requests: list[httpx.Request] = field(default_factory=list)

    def play(self, repeats: int) -> None:
        """One of each kind, and `repeats` contributions that were acknowledged before."""
        aggregator = self.replicas.first
        parties = [self.replicas.party(f"client-{number:02d}") for number in range(CLIENTS)]
        people = [self._staff(name) for name in PEOPLE]
        for party in parties:
            party.enrol()
        people[0].api.post(f"/v1/operator/federations/{NAME}/rounds", b"")
        bodies = {party.name: party.contribution() for party in parties}
        # The last one closes the round: before it comes all that is repeated.
        *most, last = parties
        for number in range(len(most) + repeats):
            party = most[number % len(most)]
            party.send_contribution(bodies[party.name], 1)
        last.send_contribution(bodies[last.name], 1)
        aggregator.advance()
        for party in parties[:-1]:
            party.open()
        self._administer(*people)
        self._replace(parties[0])
        for _ in range(2):
            parties[1].api.delete(f"clients/{parties[1].name}")
        for owner in (*parties, *people):
            transport = owner.transport
            for request, (status, _) in zip(transport.requests, transport.answers, strict=True):
                if request.method != "GET":
                    assert status < 300, (status, request.url)
                    self.requests.append(request)

    def _staff(self, name: str) -> Staff:
        person = Staff(self.replicas.first, name, "operator", transport=Balanced(self.replicas.ports))
        for _ in range(2):
            person.enrol()
        return person

    def _administer(self, acting: Staff, replacing: Staff, leaving: Staff) -> None:
        acting.issue("bench-1")
        acting.set_state("paused")
        acting.set_state("resumed")
        acting.revoke("client-05")
        body = replacing.rotation(Ed25519PrivateKey.generate())
        for _ in range(2):
            replacing.send_rotation(body)
        leaving.api.delete(f"/v1/operator/staff/{leaving.name}")

    def _replace(self, party: Party) -> None:
        body = party.rotation(Ed25519PrivateKey.generate())
        for _ in range(2):
            party.send_rotation(body)

    def again(self, ports: Sequence[int]) -> Counter[int]:
        """Every one of them once more at each port, signature and all; how often which status was the answer."""
        transport, statuses = Recorded(), Counter[int]()
        try:
            for port in ports:
                for request in self.requests:
                    sent = httpx.Request(
                        request.method,
                        request.url.copy_with(port=port),
                        headers=request.headers,
                        content=request.read(),
                    )
                    statuses[transport.again(sent).status_code] += 1
        finally:
            transport.close()
        return statuses

    def kinds(self) -> set[str]:
        """What was captured: method and last words of the path."""
        return {f"{request.method} {_kind(request.url.path)}" for request in self.requests}

    def spent(self) -> set[tuple[str, str]]:
        """Key id and nonce of each."""
        found = [_SIGNED.search(request.headers["signature-input"]) for request in self.requests]
        return {(one["key"], one["nonce"]) for one in found if one is not None}

    @contextmanager
    def restarted(self) -> Iterator[int]:
        """The port of a process that starts on the same database; the others remember what it does not."""
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
            context = self.replicas.first.second_replica()
            app = main.create_app(self.replicas.first.settings, context)
            with listening(app, context, listener, keeps_deadlines=False):
                yield listener.getsockname()[1]

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of the database."""
        return self.replicas.first.dump()


def _kind(path: str) -> str:
    words = [word for word in path.split("/") if word.isalpha() and word not in (NAME, *PEOPLE)]
    return words[-1]
