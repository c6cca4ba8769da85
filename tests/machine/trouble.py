"""Rules about everything that is nobody's plan: time, crashes, replays, backups, pauses."""

from datetime import timedelta

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from fgpr.secagg.stages import RUNNING
from machine.faults import Fault
from machine.steps import COMMITS, FAULTS, WHICH, Steps
from machine.violation import require
from machine.wire import Captured

BACK = 20.0
"""Seconds that a clock may go back: less than the skew that signatures allow for."""


MOST_BACKUPS = 2
"""In one example: one takes as long as many steps."""


REPLAYED = 4
"""Requests sent again after each restored backup."""


class Trouble(Steps):
    """Move clocks, tick, crash, replay, back up, restore, pause."""

    @rule(seconds=st.sampled_from([-BACK, 1.0, 30.0, 119.0, 121.0, 151.0, 599.0, 601.0, 3_600.0, 86_400.0]))
    def move_clock(self, seconds: float) -> None:
        """The clock moves, and nobody looks."""
        self.world.clock.forward(seconds)
        self.finished("move_clock")

    @precondition(lambda self: self.world.seen.runs())
    @rule(seconds=st.sampled_from([-1, 0, 1]))
    def go_to_deadline(self, seconds: int) -> None:
        """The clock moves to the deadline, or a second before or after it."""
        found = self.world.seen.rounds[self.world.seen.last]
        deadline = found.contribute_until if self.world.clock() < found.contribute_until else found.open_until
        self.world.clock.now = max(self.world.clock(), deadline + timedelta(seconds=seconds))
        self.finished("go_to_deadline")

    @rule(fault=FAULTS, commits=COMMITS)
    def tick(self, fault: Fault, commits: int) -> None:
        """A replica does what is due."""
        self.counts[f"fault {fault}"] += 1
        self.world.tick(fault, commits)
        self.world.look()
        if fault is Fault.NONE:
            for number, found in self.world.seen.rounds.items():
                late = found.stage in RUNNING and self.world.clock() >= found.open_until
                require(not late, 17, f"round {number} is in stage {found.stage} after a tick past its last deadline")
        self.finished("tick")

    @precondition(lambda self: self.world.crashes == 0 or self._taken > self._crashed)
    @rule()
    def crash(self) -> None:
        """Every process is killed, and others begin."""
        self.world.restart()
        self.finished("crash")
        self._crashed = self._taken

    @precondition(lambda self: self.world.wire.captured)
    @rule(which=st.integers(0, 39))
    def replay(self, which: int) -> None:
        """Somebody sends a request again that went by, to whichever replica is next."""
        self._replay(self.choose(self.world.wire.captured, which))
        self.finished("replay")

    @rule(which=WHICH)
    def lose_connection(self, which: int) -> None:
        """A request arrives unsigned, as if its fields had been taken off on the way."""
        captured = self.world.wire.captured[which % len(self.world.wire.captured)].request
        fields = {name: value for name, value in captured.headers.items() if not name.startswith("signature")}
        bare = httpx.Request(captured.method, captured.url, headers=fields, content=captured.content)
        before = self.world.dump()
        self.expect(self.world.wire.deliver(bare, Fault.NONE).status_code, {401}, 5, "an unsigned request")
        self.unchanged(before, 5, "an unsigned request")
        self.finished("lose_connection")

    @precondition(lambda self: self._is_worth_a_backup())
    @rule()
    def back_up(self) -> None:
        """The operator writes a backup."""
        self.world.back_up()
        self.finished("back_up")

    @precondition(lambda self: self.world.backups)
    @rule(back=st.integers(1, 2), lose_entries=st.sampled_from([False, False, True]))
    def restore(self, back: int, lose_entries: bool) -> None:
        """The operator puts one of the newest two backups in place."""
        backups = self.world.backups
        taken = self.world.restore(backups[-min(back, len(backups))], lose_entries=lose_entries)
        if taken:
            # Whatever was signed before is worth nothing now, most of all what the backup does not know.
            for captured in self.world.wire.captured:
                captured.is_void = True
            for captured in self.world.wire.captured[-REPLAYED:]:
                self._replay(captured)
        self.counts["restored" if taken else "restores refused"] += 1
        self.finished("restore")

    @rule(state=st.sampled_from(["paused", "resumed", "resumed"]), fault=FAULTS, commits=COMMITS)
    def pause(self, state: str, fault: Fault, commits: int) -> None:
        """The operator pauses or resumes the federation."""
        status, _ = self.act(fault, commits, lambda: self.world.operator.set_state(state))
        self.expect(status, {200}, 4, f"the federation is {state}")
        self.world.look()
        if status:
            wanted = "paused" if state == "paused" else "open"
            require(self.world.seen.state == wanted, 13, f"{state} is acknowledged, the state {self.world.seen.state}")
        self.finished("pause")

    def _is_worth_a_backup(self) -> bool:
        backups = self.world.backups
        return len(backups) < MOST_BACKUPS and not (backups and backups[-1].model.last == self.world.seen)

    def _replay(self, captured: Captured) -> None:
        spent = (captured.key_id, captured.nonce) in self.world.seen.nonces
        had_effect = spent or (captured.status is not None and captured.status < 300)
        before = self.world.dump()
        status = self.world.wire.deliver(captured.request, Fault.NONE).status_code
        if had_effect or captured.is_void:
            what = f"{captured.request.method} {captured.request.url.path} again"
            self.expect(status, {401, 403, 404, 409, 410, 422, 429}, 10, what)
            self.unchanged(before, 10, what)
        elif status < 300:
            # A request that was lost, and arrives only now: from here on it had its effect.
            captured.status = status
