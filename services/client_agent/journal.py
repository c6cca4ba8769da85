"""The journal: which plans an agent checked, what it contributed and what it opened, written before it is sent.

    HOME/lock                              one agent at a time
    HOME/numbers.json                      the highest numbers seen, and who was revoked; outlives pruned rounds
    HOME/privacy.json                      what contributions cost in privacy (`client_agent.ledger`)
    HOME/rounds/000007/plan.json           a checked plan with its roster
    HOME/rounds/000007/contribution.json   the one body that was or will be sent, byte for byte
    HOME/rounds/000007/complaint.json      the body of the complaint of boxes that did not open; it opens nothing
    HOME/rounds/000007/opening.json        the one cohort that was opened, with the body of the answer

Each file is written whole and once (`client_agent.durable_file`), in this order, so that a crash between two of them
leaves an earlier state in which nothing more was sent. Rounds of other thetas go once 32 newer ones are known.
"""

import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from pydantic import Field

from client_agent import durable_file, keyfile, lock
from client_agent.ledger import FILE_NAME, Ledger
from fgpr.errors import EncodingError, LocalProtocolError
from fgpr.federated.accounting import Budget
from fgpr.journal import CONTRIBUTION, OPENING, PLAN, ROUNDS, Answer, SeenPlan
from fgpr.message import Count, Message, Name, Signed
from fgpr.secagg.history import History, PastRound, Revocations
from fgpr.secagg.messages import Cohort, LogPosition, Plan
from fgpr.secagg.roster import Roster

KEPT_ROUNDS = 32
"""Newest rounds that are kept whatever their theta."""

NUMBERS, COMPLAINT = "numbers.json", "complaint.json"

M = TypeVar("M", bound=Message)


class Numbers(Message):
    """The highest numbers ever seen and the revocations read, as in `fgpr.secagg.history.History`.

    Attributes:
        ended: the last round known to be over.
    """

    last_round: Count = 0
    prior_version: Count = 0
    roster_version: Count = 0
    serials: dict[Name, Count] = Field(default_factory=dict)
    ended: Count = 0
    revocations: Revocations | None = None

    def with_plan(self, plan: Plan) -> "Numbers":
        """These numbers after a plan was checked."""
        serials = dict(self.serials)
        for seat in plan.seats:
            if seat.key is not None:
                serials[seat.client] = max(serials.get(seat.client, 0), seat.key.message.serial)
        return Numbers(
            last_round=max(self.last_round, plan.round),
            prior_version=max(self.prior_version, plan.prior_version),
            roster_version=max(self.roster_version, plan.roster_version),
            serials=serials,
            ended=self.ended,
            revocations=self.revocations,
        )


def read_numbers(home: Path) -> Numbers:
    """The highest numbers that the agent of this home ever saw; its caller holds the home's lock.

    Raises:
        EncodingError: the file is damaged.
    """
    return _read(home / NUMBERS, Numbers) or Numbers()


class Journal:
    """The journal in one home; holds the home's lock until it is closed.

    Raises:
        LocalProtocolError: another agent uses this home.
        CryptographicError: others can write in the home.
        EncodingError: a file of it is damaged.
    """

    def __init__(self, home: Path) -> None:
        keyfile.make_folder(home)
        self._numbers_path = home / NUMBERS
        self._rounds_folder = home / ROUNDS
        with ExitStack() as stack:
            stack.enter_context(lock.held(home / lock.HOME_LOCK))
            durable_file.make_folder(self._rounds_folder)
            self._numbers = _read(self._numbers_path, Numbers) or Numbers()
            self._rounds: dict[int, PastRound] = {}
            for folder in sorted(self._rounds_folder.iterdir()):
                self._load(folder)
            self._ledger = Ledger(home)
            self._check_charged()
            self._stack = stack.pop_all()

    def close(self) -> None:
        """Let go of the home."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def last_round(self) -> int:
        """The highest round whose plan was checked; 0 before the first."""
        return self._numbers.last_round

    @property
    def last_ended(self) -> int:
        """The highest round that is known to be over."""
        return self._numbers.ended

    def history(self, checkpoint: LogPosition | None) -> History:
        """All that the checks need, with the checkpoint of the audit log that the agent kept."""
        return History(
            rounds=tuple(self._rounds[number] for number in sorted(self._rounds)),
            last_round=self._numbers.last_round,
            prior_version=self._numbers.prior_version,
            roster_version=self._numbers.roster_version,
            serials=MappingProxyType(dict(self._numbers.serials)),
            checkpoint=checkpoint,
            revocations=self._numbers.revocations,
        )

    def round(self, number: int) -> PastRound | None:
        """A round whose plan was checked, while it is remembered."""
        return self._rounds.get(number)

    def record_plan(self, plan: Signed[Plan], roster: Signed[Roster]) -> None:
        """Write that a plan passed every check.

        Raises:
            LocalProtocolError: a plan of this round or of a later one was recorded.
        """
        message = plan.message
        if message.round <= self.last_round:
            raise LocalProtocolError(f"round {message.round} comes after round {self.last_round} was recorded")
        folder = self._folder(message.round)
        durable_file.make_folder(folder)
        durable_file.write_once(folder / PLAN, SeenPlan(plan=plan, roster=roster).encode())
        self._rounds[message.round] = PastRound(message, roster.message)
        self._save(self._numbers.with_plan(message))
        self._prune()

    def contribution(self, number: int) -> bytes | None:
        """The body of the one contribution to a round, as it was written."""
        return _bytes(self._folder(number) / CONTRIBUTION)

    def write_contribution(self, number: int, body: bytes) -> None:
        """Write the one contribution to the newest round, before it is sent; what it costs in privacy before that.

        Raises:
            LocalProtocolError: there is one, the round was opened, its plan was not checked, or a later one was.
        """
        past = self._rounds.get(number)
        if past is None or number != self.last_round or past.contributed or past.opened is not None:
            raise LocalProtocolError(f"no contribution to round {number} may be made any more")
        if past.plan.differential_privacy is not None:
            self._ledger.charge(number, past.plan.differential_privacy)
        durable_file.write_once(self._folder(number) / CONTRIBUTION, body)
        self._rounds[number] = replace(past, contributed=True)

    def check_budget(self, plan: Plan, budget: Budget) -> None:
        """Check 17 of a plan, by what was charged so far; raises as `client_agent.ledger.Ledger.check`."""
        self._ledger.check(plan.round, plan.differential_privacy, budget)

    def complaint(self, number: int) -> bytes | None:
        """The body of the complaint of a round, as it was written."""
        return _bytes(self._folder(number) / COMPLAINT)

    def write_complaint(self, number: int, body: bytes) -> None:
        """Write the complaint of a round before it is sent; the empty cohort may be opened after it.

        Raises:
            LocalProtocolError: there is one, a cohort of the round was opened, or its plan was not checked.
        """
        past = self._rounds.get(number)
        if past is None or past.opened is not None:
            raise LocalProtocolError(f"no complaint of round {number} may be made any more")
        durable_file.write_once(self._folder(number) / COMPLAINT, body)

    def opening(self, number: int) -> bytes | None:
        """The body of the one opening of a round, as it was written."""
        answer = _read(self._folder(number) / OPENING, Answer)
        return None if answer is None else answer.body

    def write_opening(self, number: int, cohort: Signed[Cohort], body: bytes) -> None:
        """Write the one opening of a round, and which cohort it opens, before it is sent.

        Raises:
            LocalProtocolError: there is one, or the round's plan was not checked.
        """
        past = self._rounds.get(number)
        if past is None or past.opened is not None:
            raise LocalProtocolError(f"no opening of round {number} may be made any more")
        durable_file.write_once(self._folder(number) / OPENING, Answer(cohort=cohort, body=body).encode())
        self._rounds[number] = replace(past, opened=cohort.message)

    def record_revocations(self, revocations: Revocations) -> None:
        """Write who was revoked up to the checkpoint of a cohort that is about to be opened."""
        if revocations != self._numbers.revocations:
            self._save(self._numbers.model_copy(update={"revocations": revocations}))

    def mark_ended(self, number: int) -> None:
        """Write that a round is over, so that a restarted agent does not wait for its end."""
        if number > self._numbers.ended:
            self._save(Numbers(**(dict(self._numbers) | {"ended": number})))

    def _check_charged(self) -> None:
        charged = self._ledger.charges.rounds()
        for number, past in self._rounds.items():
            if past.contributed and past.plan.differential_privacy is not None and number not in charged:
                raise EncodingError(
                    f"the contribution to round {number} is in no ledger: {FILE_NAME} was removed or is older than the "
                    "journal. Restore it from a backup taken since that round, or leave and enrol anew"
                )

    def _folder(self, number: int) -> Path:
        return self._rounds_folder / f"{number:06d}"

    def _save(self, numbers: Numbers) -> None:
        durable_file.replace(self._numbers_path, numbers.encode())
        self._numbers = numbers

    def _load(self, folder: Path) -> None:
        durable_file.clear_drafts(folder)
        seen = _read(folder / PLAN, SeenPlan)
        if seen is None:
            # The plan is written first and removed first: without it nothing was sent, or the round was pruned.
            shutil.rmtree(folder)
            return
        plan = seen.plan.message
        answer = _read(folder / OPENING, Answer)
        self._rounds[plan.round] = PastRound(
            plan,
            seen.roster.message,
            contributed=(folder / CONTRIBUTION).exists(),
            opened=None if answer is None else answer.cohort.message,
        )
        # A crash may have come between the plan and the numbers.
        self._numbers = self._numbers.with_plan(plan)

    def _prune(self) -> None:
        newest = self._rounds[max(self._rounds)].plan
        for number in sorted(self._rounds)[:-KEPT_ROUNDS]:
            if self._rounds[number].plan.theta_version != newest.theta_version:
                durable_file.erase(self._folder(number) / PLAN)
                shutil.rmtree(self._folder(number))
                del self._rounds[number]


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _read(path: Path, kind: type[M]) -> M | None:
    raw = _bytes(path)
    if raw is None:
        return None
    try:
        return kind.decode(raw)
    except EncodingError as error:
        raise EncodingError(
            f"{path} is damaged ({error}). Without it the agent could contradict itself: restore the home from a "
            "backup taken since the last round, or leave and enrol anew"
        ) from error
