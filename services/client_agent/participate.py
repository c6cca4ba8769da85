"""Taking part in rounds: look where the federation stands, do what this client owes it, look again.

What the aggregator sends never ends the loop, short of the word that this client is revoked: a plan or cohort that
fails a check, a deadline that passed, rows that teach nothing are told to the owner, and the next round comes.
"""

import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from client_agent import agent
from client_agent.clock_watch import ClockWatch
from client_agent.contribution import Observer
from client_agent.duties import Duties
from client_agent.events import Kind, Listener, Reporter
from client_agent.federation_client import Connection
from client_agent.journal import Journal
from client_agent.local_data import Source
from fgpr.errors import FgprError, Forbidden
from fgpr.federated.accounting import Budget
from fgpr.rest import RoundView
from fgpr.secagg.history import Floors
from fgpr.secagg.stages import RUNNING, Stage

_BREATH = 1.0
"""Seconds between two looks where the aggregator answers at once and nothing has changed."""

_STANDING = {
    "paused": "the federation is paused: no round opens until its operator resumes it; the audit log has the reason",
    "closed": "the federation is closed for good: no round opens any more; the audit log has the reason",
}
"""What the owner is told of a federation in which no round opens."""


def participate(
    home: Path,
    source: Source,
    *,
    api: Connection,
    rounds: int | None = None,
    floors: Floors | None = None,
    budget: Budget | None = None,
    target: str | None = None,
    rng: np.random.Generator | None = None,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    stop: threading.Event | None = None,
    observer: Observer | None = None,
    on_event: Listener | None = None,
    on_start: Callable[[], None] = lambda: None,
    poll_seconds: int = 30,
    pause: float = 5.0,
) -> int:
    """Take part in rounds until there were enough, the client is stopped, or it is revoked.

    Args:
        home: of an enrolled client; nobody else may use it meanwhile.
        source: its rows, or what reads them anew for each round.
        api: the way to the aggregator.
        rounds: stop when that many rounds have ended; None goes on for good.
        floors: the weakest plan that the owner takes; the defaults of the class where None.
        budget: most that all rounds may cost in privacy; no limit where None.
        target: the column of the target, where it has another name than in the model.
        rng: draws mini-batches; seeded by the system where None.
        random_bytes: the system's generator of secret bytes.
        clock: stamps events and cosignatures.
        stop: when set, the loop ends after the present look.
        observer: sees each update before it is masked; for demonstrations.
        on_event: is told what happens.
        on_start: is called once nobody else can use the home, before anything happens.
        poll_seconds: longest time that a look waits for a change, 0 to 30.
        pause: seconds before the next try after a failure.

    Returns:
        How many rounds ended while this client served, one that an earlier run of the agent left open included.

    Raises:
        LocalProtocolError: not enrolled as a client, or another agent uses the home.
        CryptographicError, EncodingError: the home is damaged, or others can touch it.
        OSError: the journal cannot be written; nothing of it was sent.
    """
    at_home = agent.at_home(
        home,
        api,
        floors=Floors() if floors is None else floors,
        budget=Budget() if budget is None else budget,
        rng=np.random.default_rng() if rng is None else rng,
        random_bytes=random_bytes,
        clock=clock,
    )
    tell = Reporter(clock, on_event)
    stop = threading.Event() if stop is None else stop
    watch = ClockWatch(clock, tell)
    with at_home as present:
        on_start()
        duties = Duties(present, source, target, observer, tell)
        tally = _Tally(present.journal, tell, rounds)
        seen: str | None = None
        while not (stop.is_set() or tally.enough):
            began = time.monotonic()
            watch.look()
            try:
                view = present.federation.current(seen, poll_seconds)
            except Forbidden as error:
                tell(Kind.REVOKED, 0, f"this client takes part no more: {error}", error)
                break
            except FgprError as error:
                tell(Kind.FAILED, 0, f"cannot learn where the federation stands: {error}", error)
                stop.wait(pause)
                continue
            watch.compare(view.server_time)
            if seen == view.state and time.monotonic() - began < _BREATH:
                stop.wait(_BREATH)
            try:
                _serve(duties, tally, tell, view)
                seen = view.state
            except FgprError as error:
                tell(Kind.FAILED, view.round, f"{error}; it is tried again", error)
                seen = None
                stop.wait(pause)
    return tally.served


def _serve(duties: Duties, tally: "_Tally", tell: Reporter, view: RoundView) -> None:
    # Before the newest plan: once that is recorded, no plan of an earlier round can be checked any more.
    for aborted in sorted(view.aborted, key=lambda each: each.plan.message.round):
        duties.void(aborted)
    tally.overtaken(view.round)
    if view.stage not in RUNNING:
        duties.complain(view.round)
        if view.stage is Stage.PUBLISHED:
            duties.deliver_key(view.round)
        tally.ended(view)
        if view.federation_state in _STANDING:
            tell(Kind.PAUSED, 0, _STANDING[view.federation_state])
    elif view.plan is not None and not tally.enough:
        # Not another round when there were enough: a client that contributes should be there to open, too.
        tally.running(view.round)
        checked = duties.check(view.plan)
        if checked is not None and view.stage is Stage.CONTRIBUTING:
            duties.contribute(checked)
        elif checked is not None:
            duties.open(checked)


class _Tally:
    """Which rounds were seen to run, and how many of them are over; `limit` is how many are enough."""

    def __init__(self, journal: Journal, tell: Reporter, limit: int | None) -> None:
        self._journal = journal
        self._tell = tell
        self._limit = limit
        # A round that an earlier run of the agent left open is served to its end.
        self._serving = {journal.last_round} if journal.last_round > journal.last_ended else set()
        self.served = 0

    @property
    def enough(self) -> bool:
        """Whether as many rounds ended as were asked for."""
        return self._limit is not None and self.served >= self._limit

    def running(self, number: int) -> None:
        """Note a round that runs."""
        self._serving.add(number)

    def overtaken(self, newest: int) -> None:
        """Note the rounds before the newest one."""
        for number in sorted(each for each in self._serving if each < newest):
            self._end(number, "ended")

    def ended(self, view: RoundView) -> None:
        """Note the end of the newest round."""
        if view.round in self._serving:
            reason = f"ended without a prior: {view.reason or 'no reason was told'}"
            self._end(view.round, f"published prior {view.prior_version}" if view.stage is Stage.PUBLISHED else reason)

    def _end(self, number: int, text: str) -> None:
        self._serving.discard(number)
        self._journal.mark_ended(number)
        self.served += 1
        self._tell(Kind.ENDED, number, text)
