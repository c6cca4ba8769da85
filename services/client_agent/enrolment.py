"""Taking up a ticket, another key, and leaving."""

import secrets
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import (
    declaration,
    durable_file,
    epoch,
    identity,
    journal,
    keyfile,
    lock,
    membership,
    opening_keys,
    rotation,
)
from client_agent.api import Api
from client_agent.federation_client import Connection, FederationClient
from client_agent.membership import Membership
from client_agent.opening_keys import OpeningKeys
from fgpr import signatures
from fgpr.errors import LocalProtocolError, RemoteProtocolError
from fgpr.message import Signed
from fgpr.rest import EnrolmentReceipt, EnrolmentRequest
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import OpeningKey
from fgpr.secagg.suites import SUITES, private_half
from fgpr.ticket import Ticket

Connect = Callable[[str, str, Ed25519PrivateKey], Connection]
"""From origin, federation and identity key to a connection."""


def enrol(home: Path, ticket: Ticket, connect: Connect = Api, rows: int | None = None) -> EnrolmentReceipt:
    """Take up a ticket with a new identity in `home`.

    The keys are on disk before the aggregator hears of them: where the answer was lost, the same ticket in the same
    home gets it again.

    Args:
        home: folder of the new client.
        ticket: what the operator handed over.
        connect: the way to the aggregator.
        rows: the client's number of rows; declared where the ticket asks for it, and only there.

    Raises:
        LocalProtocolError: the home is enrolled already, or an agent uses it; or the ticket asks for rows.
        RequestError: the aggregator refuses the ticket.
        RemoteProtocolError: the receipt is another party's.
        CryptographicError: a key cannot be written or read.
    """
    keyfile.make_folder(home)
    with lock.held(home / lock.HOME_LOCK):
        if (home / membership.FILE_NAME).exists():
            known = membership.load(home)
            raise LocalProtocolError(
                f"{home} is enrolled as {known.client} in {known.federation} already; name another home"
            )
        key = identity.load(home) if (home / identity.FILE_NAME).exists() else identity.create(home)
        request = EnrolmentRequest(
            federation=ticket.federation,
            client=ticket.client,
            secret=ticket.secret,
            identity_key=signatures.public_bytes(key),
            opening_key=None if ticket.role == "reader" else _first_opening_key(home, ticket, key),
            declared=declaration.make(home, ticket, rows, key),
        )
        connection = connect(ticket.origin, ticket.federation, key)
        if isinstance(connection, Api):
            connection.trust(ticket.service_key)
            connection.expect_epoch(ticket.epoch)
        try:
            receipt = FederationClient(connection, ticket.federation).enrol(request)
        finally:
            if isinstance(connection, Api):
                connection.close()
        named = (receipt.federation, receipt.client, receipt.role)
        if named != (ticket.federation, ticket.client, ticket.role):
            raise RemoteProtocolError(f"the receipt names {named}, the ticket another party; report this")
        durable_file.replace(home / epoch.FILE_NAME, ticket.epoch.encode("ascii"))
        membership.save(home, Membership.from_ticket(ticket))
    return receipt


def leave(home: Path, connection: Connection) -> Membership:
    """Leave the federation for good; the home stays as it is.

    Raises:
        LocalProtocolError: the home is enrolled nowhere.
        RequestError: the aggregator refuses.
    """
    known = membership.load(home)
    FederationClient(connection, known.federation).leave(known.client)
    return known


def rotate_key(home: Path, connect: Connect = Api) -> Ed25519PrivateKey:
    """Replace the identity key of the party in `home`, or finish what an earlier run began; the new key.

    Raises:
        LocalProtocolError: the home is enrolled nowhere, or an agent uses it.
        RequestError, RemoteProtocolError, CryptographicError: see `client_agent.rotation.rotate`.
    """
    known = membership.load(home)

    def send(key: Ed25519PrivateKey, body: bytes) -> bytes:
        connection = connect(known.origin, known.federation, key)
        if isinstance(connection, Api):
            connection.trust(known.service_key)
            connection.expect_epoch(epoch.load(home))
        try:
            return connection.put(f"clients/{known.client}/key", body)
        finally:
            if isinstance(connection, Api):
                connection.close()

    def next_opening_key(key: Ed25519PrivateKey) -> Signed[OpeningKey] | None:
        if known.role == "reader":
            return None
        keys = OpeningKeys(home)
        # Above every serial that was ever told: those in plans, and those that only an opening named.
        serial = max(journal.read_numbers(home).serials.get(known.client, 0), *keys.serials(), 0) + 1
        private = private_half(secrets.token_bytes(SUITES[keys.suite()].private_bytes))
        keys.add(serial, private)
        return opening_keys.signed(key, known.federation, known.client, serial, private)

    def declare(key: Ed25519PrivateKey) -> Signed[DeclaredWeight] | None:
        return declaration.again(home, key)

    return rotation.rotate(home, known.federation, known.client, send, next_opening_key, declare)


def _first_opening_key(home: Path, ticket: Ticket, identity_key: Ed25519PrivateKey) -> Signed[OpeningKey]:
    keys = OpeningKeys(home)
    private = keys.get(1)
    if private is None:
        private = private_half(secrets.token_bytes(SUITES[ticket.suite].private_bytes))
        keys.add(1, private)
    return opening_keys.signed(identity_key, ticket.federation, ticket.client, 1, private)
