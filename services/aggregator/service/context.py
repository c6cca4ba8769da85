"""What every act of the aggregator needs: database, keys, clock, randomness, and a bell that wakes waiting readers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service.bell import Bell
from aggregator.service.boxed_cohorts import BoxedCohorts
from aggregator.service.shown_views import ShownViews
from aggregator.storage.engine import Database
from fgpr import signatures


class KeyRing(Protocol):
    """The private keys; they live in files, never in the database."""

    def service(self) -> Ed25519PrivateKey:
        """The aggregator's service key."""
        ...

    def roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key."""
        ...

    def check(self) -> None:
        """Check that the service key can be read now; raises CryptographicError."""
        ...

    def remember(self, note: str, *, shorter: bool = False) -> None:
        """Keep the newest checkpoint, outside the database; one of a shorter log only where that is said."""
        ...

    def remembered(self) -> str | None:
        """The checkpoint that was kept last."""
        ...

    def ensure_service(self) -> Ed25519PrivateKey:
        """The service key, made now where there is none."""
        ...

    def ensure_roster(self, federation: str) -> Ed25519PrivateKey:
        """A federation's roster key, made now where there is none."""
        ...


@dataclass(frozen=True)
class Context:
    """One aggregator process.

    Attributes:
        database: where everything is kept.
        keys: private keys.
        origin: the public address that tickets carry and signatures are checked against.
        clock: now, aware.
        random_bytes: the system's generator of secret bytes.
        bell: rung after each commit that changes a round.
        boxed: closed cohorts, unpacked.
        shown: views of rounds, written down.
    """

    database: Database
    keys: KeyRing
    origin: str
    clock: Callable[[], datetime]
    random_bytes: Callable[[int], bytes]
    bell: Bell = field(default_factory=Bell)
    boxed: BoxedCohorts = field(default_factory=BoxedCohorts)
    shown: ShownViews = field(default_factory=ShownViews)

    def service_public(self) -> bytes:
        """The public half of the service key, 32 bytes."""
        return signatures.public_bytes(self.keys.service())
