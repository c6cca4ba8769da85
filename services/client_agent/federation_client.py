"""The aggregator's interface as typed calls: bytes out and in become the messages that both sides share."""

from collections.abc import Mapping
from typing import Protocol

from fgpr import merkle
from fgpr.errors import RemoteProtocolError, Unauthenticated
from fgpr.message import Signed
from fgpr.rest import (
    CheckpointView,
    EnrolmentReceipt,
    EnrolmentRequest,
    LogEntries,
    LogProof,
    PriorView,
    Receipt,
    RoundView,
)
from fgpr.secagg.messages import CohortView
from fgpr.secagg.roster import Roster


class Connection(Protocol):
    """Signed and unsigned requests, as `client_agent.api.Api` sends them."""

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> bytes:
        """Read, signed."""

    def get_public(self, path: str, params: Mapping[str, str | int] | None = None) -> bytes:
        """Read, unsigned."""

    def post(self, path: str, body: bytes) -> bytes:
        """Send a body, signed."""

    def put(self, path: str, body: bytes) -> bytes:
        """Put a body, signed."""

    def delete(self, path: str) -> bytes:
        """Delete, signed."""


class FederationClient:
    """One federation at its aggregator. Nothing that comes back is verified here, only its form.

    Every method raises what `client_agent.api.Api` raises, and EncodingError where an answer is not of its form.
    """

    def __init__(self, connection: Connection, federation: str) -> None:
        self._connection = connection
        self._federation = federation
        self._log_is_closed = False

    def _open(self, path: str, params: Mapping[str, str | int] | None = None) -> bytes:
        """Read without telling who asks; where the log is not public, signed."""
        if not self._log_is_closed:
            try:
                return self._connection.get_public(path, params)
            except Unauthenticated:
                self._log_is_closed = True
        return self._connection.get(path, params)

    def enrol(self, request: EnrolmentRequest) -> EnrolmentReceipt:
        """Take up a ticket."""
        return EnrolmentReceipt.decode(self._connection.post("/v1/enrolments", request.encode()))

    def leave(self, client: str) -> None:
        """Leave the federation."""
        self._connection.delete(f"clients/{client}")

    def current(self, seen: str | None, wait: int) -> RoundView:
        """Where the federation stands; waits up to `wait` seconds while its state is `seen`.

        Raises:
            RemoteProtocolError: the view contradicts itself.
        """
        params: dict[str, str | int] = {} if seen is None else {"seen": seen, "wait": wait}
        view = RoundView.decode(self._connection.get("rounds/current", params))
        if view.federation != self._federation:
            raise RemoteProtocolError(f"the answer is about federation {view.federation}")
        if view.plan is not None and view.plan.message.round != view.round:
            raise RemoteProtocolError(f"the plan of round {view.plan.message.round} is shown as round {view.round}")
        return view

    def roster(self, version: int) -> Signed[Roster]:
        """A roster version."""
        return Signed[Roster].decode(self._open(f"rosters/{version}"))

    def prior(self, version: int | None = None) -> PriorView:
        """A prior, by default the newest."""
        return PriorView.decode(self._connection.get(f"priors/{'latest' if version is None else version}"))

    def contribute(self, number: int, client: str, body: bytes) -> Receipt:
        """Send a contribution."""
        return Receipt.decode(self._connection.put(f"rounds/{number}/contributions/{client}", body))

    def cohort(self, number: int) -> CohortView:
        """The cohort of a closed round, as this member gets it."""
        return CohortView.decode(self._connection.get(f"rounds/{number}/cohort"))

    def answer(self, number: int, client: str, body: bytes) -> Receipt:
        """Send an opening."""
        return Receipt.decode(self._connection.put(f"rounds/{number}/openings/{client}", body))

    def complain(self, number: int, client: str, body: bytes) -> Receipt:
        """Send a complaint."""
        return Receipt.decode(self._connection.put(f"rounds/{number}/complaints/{client}", body))

    def checkpoint(self) -> str:
        """The note of the newest checkpoint of the audit log."""
        return self.shown_checkpoint().note

    def shown_checkpoint(self) -> CheckpointView:
        """The newest checkpoint, and the key that the aggregator calls its own."""
        return CheckpointView.decode(self._open("/v1/log/checkpoint"))

    def entries(self, start: int, end: int) -> LogEntries:
        """Leaves from `start` up to `end`, or fewer."""
        return LogEntries.decode(self._open("/v1/log/entries", {"start": start, "end": end}))

    def inclusion(self, index: int, size: int) -> merkle.Proof:
        """Proof that leaf `index` is in the log of `size` leaves."""
        raw = self._open("/v1/log/inclusion", {"index": index, "size": size})
        return LogProof.decode(raw).hashes

    def consistency(self, old: int, new: int) -> merkle.Proof:
        """Proof that the log of `new` leaves begins with that of `old`."""
        raw = self._open("/v1/log/consistency", {"old": old, "new": new})
        return LogProof.decode(raw).hashes
