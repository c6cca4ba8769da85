"""What is known of a federation before or after joining it: its settings, and where training starts.

From a file that its operator hands out, from the audit log by way of a ticket, or from the home of an enrolled client,
which keeps what it learned for times without a net.
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import durable_file, membership, published_prior
from client_agent.api import Api
from client_agent.federation_client import FederationClient
from client_agent.trail import MOST_LEAVES, PAGE
from fgpr.auditlog import entries
from fgpr.auditlog.entries import FederationCreated
from fgpr.errors import DataError, EncodingError, RemoteProtocolError, Unavailable
from fgpr.federated.federation import Federation
from fgpr.gp.arrays import Array
from fgpr.gp.model import ModelSpec
from fgpr.ticket import Ticket

FILE_NAME = "federation.json"


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A model, and what else is known of its federation.

    Attributes:
        spec: the model.
        theta: where training starts, in the wire order: the newest prior's, or the model's start values.
        source: where this comes from, for people.
        federation: all its settings; None where just the model is known.
        version: of the prior; None where there is none.
    """

    spec: ModelSpec
    theta: Array
    source: str
    federation: Federation | None = None
    version: int | None = None


def from_file(path: Path) -> KnownModel:
    """From a federation's settings in TOML or JSON, or from a model alone.

    Raises:
        EncodingError: neither; names the field.
        DataError: the file cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    try:
        value: Any = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise EncodingError(f"{path}: neither JSON nor TOML: {error}") from error
    try:
        if isinstance(value, dict) and "name" in value:
            federation = Federation.from_settings(value)
            return _started(federation.spec(), f"{path}, the settings of {federation.name}", federation)
        model = value.get("model", value) if isinstance(value, dict) else value
        return _started(ModelSpec.from_settings(model), f"{path}, a model")
    except EncodingError as error:
        raise EncodingError(f"{path}: {error}") from error


def from_ticket(ticket: Ticket, connect: Any = Api) -> KnownModel:
    """From the audit log of the aggregator that a ticket names, where that log is public; the ticket is not used up.

    Args:
        ticket: of a party that may have taken it up or not.
        connect: makes the connection.

    Raises:
        Unauthenticated: the log is not public.
        RequestError, RemoteProtocolError: the aggregator cannot be asked.
    """
    # It signs nothing: only what is public is read.
    key = Ed25519PrivateKey.generate()
    with connect(ticket.origin, ticket.federation, key, service_key=ticket.service_key) as api:
        federation = _logged(FederationClient(api, ticket.federation), ticket.federation)
    return _started(federation.spec(), f"the audit log of {ticket.origin}", federation)


def from_home(home: Path) -> KnownModel:
    """From the home of an enrolled party; asks the aggregator for what it does not hold, and goes on without it.

    Raises:
        LocalProtocolError: the home is enrolled nowhere.
        Unavailable: nothing is kept, and the aggregator cannot be reached.
        VerificationError: what the aggregator shows does not hold.
    """
    known = membership.load(home)
    with membership.connect(home, attempts=2) as api:
        published = published_prior.fetch(home, api)
        try:
            federation: Federation | None = Federation.decode((home / FILE_NAME).read_bytes())
        except (FileNotFoundError, EncodingError):
            federation = None
            if published.fresh:
                federation = _learn(home, FederationClient(api, known.federation), known.federation)
    prior = published.record.prior()
    fetched = "" if published.fresh else ", fetched before"
    return KnownModel(prior.spec, prior.theta, f"prior {prior.version} of {known.federation}{fetched}", federation,
                      prior.version)  # fmt: skip


def _learn(home: Path, client: FederationClient, name: str) -> Federation | None:
    try:
        federation = _logged(client, name)
    except (Unavailable, RemoteProtocolError):
        return None
    durable_file.replace(home / FILE_NAME, federation.encode())
    return federation


def _logged(client: FederationClient, name: str) -> Federation:
    """The settings of a federation, as its first leaf in the audit log has them."""
    position = 0
    while position < MOST_LEAVES:
        page = client.entries(position, position + PAGE)
        for raw in page.leaves:
            leaf = entries.decode(raw)
            if isinstance(leaf, FederationCreated) and leaf.federation == name:
                return leaf.settings
        position += len(page.leaves)
        if not page.leaves:
            break
    raise RemoteProtocolError(f"the audit log has no federation {name} among its first {position} leaves")


def _started(spec: ModelSpec, source: str, federation: Federation | None = None) -> KnownModel:
    return KnownModel(spec, np.array(spec.initial_theta), source, federation)
