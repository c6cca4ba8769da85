"""One agent at work: its home, its keys, its way to the aggregator, and what its owner asks for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from client_agent import identity, membership, rotation
from client_agent.federation_client import Connection, FederationClient
from client_agent.journal import Journal
from client_agent.membership import Membership
from client_agent.opening_keys import OpeningKeys
from client_agent.trail import Trail
from fgpr import signatures
from fgpr.errors import LocalProtocolError
from fgpr.federated.accounting import Budget
from fgpr.secagg.history import Floors, History
from fgpr.secagg.roster import Roster


@dataclass(frozen=True, repr=False)
class Agent:
    """What the steps of a round work with; made by `at_home`.

    Attributes:
        membership: whose agent it is.
        identity_key: signs contributions, openings and opening keys.
        journal: what it did; holds the home's lock.
        keys: private halves of its opening keys.
        federation: the aggregator.
        trail: the audit log.
        floors: the weakest plan that its owner takes.
        budget: most that all rounds may cost its client in privacy.
        rng: draws mini-batches.
        random_bytes: the system's generator of secret bytes.
        clock: the present time, aware; it stands in cosignatures.
    """

    membership: Membership
    identity_key: Ed25519PrivateKey
    journal: Journal
    keys: OpeningKeys
    federation: FederationClient
    trail: Trail
    floors: Floors
    budget: Budget
    rng: np.random.Generator
    random_bytes: Callable[[int], bytes]
    clock: Callable[[], datetime]

    @property
    def client(self) -> str:
        """The client's id."""
        return self.membership.client

    def named_by(self, roster: Roster) -> bool:
        """Whether a roster names the key that this client has now; what it signs holds under no other."""
        named = {entry.client: entry.identity_key for entry in roster.clients}
        return named.get(self.client) == signatures.public_bytes(self.identity_key)

    def history(self) -> History:
        """What it remembers."""
        return self.journal.history(self.trail.kept())

    def retire_keys(self) -> None:
        """Erase the private halves of opening keys that no later plan can name."""
        self.keys.retire(self.journal.history(None).serials.get(self.client, 0))


@contextmanager
def at_home(
    home: Path,
    connection: Connection,
    *,
    floors: Floors,
    budget: Budget,
    rng: np.random.Generator,
    random_bytes: Callable[[int], bytes],
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Agent]:
    """The agent of an enrolled client; nobody else may use its home meanwhile.

    Raises:
        LocalProtocolError: the home is enrolled nowhere or as a reader, its key is being replaced, or another agent
            uses it.
        CryptographicError: a key is missing, or others can touch it.
        EncodingError: a file of the home is damaged.
    """
    known = membership.load(home)
    if known.role != "client":
        raise LocalProtocolError(f"{known.client} is a reader of {known.federation}: it takes part in no round")
    rotation.check_settled(home)
    identity_key = identity.load(home)
    federation = FederationClient(connection, known.federation)
    with Journal(home) as journal:
        trail = Trail(home, federation, known.service_key)
        agent = Agent(
            known, identity_key, journal, OpeningKeys(home), federation, trail, floors, budget, rng, random_bytes, clock
        )
        # A crash may have come between a checked plan and the erasure.
        agent.retire_keys()
        yield agent
