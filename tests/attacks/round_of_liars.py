"""One round with liars among its clients and members: with the library in memory, or at a real aggregator."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fgpr.errors import CohortRefused, OpeningsContradict, SumRefused
from fgpr.message import Signed
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.contributor import contribute
from fgpr.secagg.messages import Contribution, Opening, Plan
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served, settings_of
from support.client import Client
from support.federation import Federation

VALUES = np.array([0.5, -0.5, 1.0])
WEIGHT = 3

Tamper = Callable[[Plan, Client, Contribution], Contribution]
"""What a lying client sends in place of its contribution."""

Lie = Callable[[Client, Signed[Opening]], Signed[Opening]]
"""What a lying member sends in place of its opening."""


class RoundOfLiars(Protocol):
    """A round in which everybody but the liars sends the same update.

    Attributes:
        names: of all clients, each with a seat.
        mends: wrong openings that can be mended.
        early: openings that end the round where they agree.
    """

    names: tuple[str, ...]
    mends: int
    early: int

    def contribute_all(
        self, tampers: Mapping[str, Tamper] | None = None, codecs: Mapping[str, Any] | None = None
    ) -> None:
        """Everybody contributes; liars what `tampers` makes of it, or what their codec encodes."""

    def open_all(self, lies: Mapping[str, Lie]) -> str:
        """Everybody opens, liars with what `lies` makes of it; what came of the round."""


def _made(checked: CheckedPlan, client: Client, tamper: Tamper | None, codec: Any) -> Contribution:
    lying = checked if codec is None else dataclasses.replace(checked, codec=codec)
    sent = contribute(lying, client.name, client.identity_key, VALUES, WEIGHT, client.random_bytes).contribution
    return sent if tamper is None else tamper(checked.plan, client, sent)


def _told(theta: np.ndarray, disputed: tuple[str, ...], silent: list[str]) -> str:
    if not np.allclose(theta, VALUES, atol=1e-8, rtol=0):
        return f"published a wrong average {theta}"
    told = [f"{name} disputed" for name in disputed] + [f"{name} silent" for name in silent]
    return ", ".join(["mended" if disputed else "published", *told])


class InMemoryRound:
    """Eight clients by default, threshold 6: all eight openings mend one wrong one."""

    def __init__(self, clients: int = 8, rules: AggregationRules | None = None) -> None:
        self._federation = Federation(clients, rules)
        self.names = self._federation.names
        plan = self._federation.plan().message
        self.mends, self.early = (clients - plan.threshold) // 2, plan.threshold + plan.spare

    def contribute_all(
        self, tampers: Mapping[str, Tamper] | None = None, codecs: Mapping[str, Any] | None = None
    ) -> None:
        """See the protocol."""
        for name, client in self._federation.clients.items():
            checked = self._federation.check(name)
            self._federation.receive(_made(checked, client, (tampers or {}).get(name), (codecs or {}).get(name)))
        self._federation.close()

    def open_all(self, lies: Mapping[str, Lie]) -> str:
        """See the protocol."""
        federation, silent = self._federation, []
        cohort = federation.now.cohort
        assert cohort is not None
        for name, client in federation.clients.items():
            try:
                answer = federation.ask(name, federation.view(name, cohort))
            except CohortRefused:
                silent.append(name)
                continue
            federation.take(lies[name](client, answer) if name in lies else answer, cohort.message)
            if len(federation.now.openings) >= self.early and (outcome := self._finish(silent, last_chance=False)):
                return outcome
        return self._finish(silent, last_chance=True) or "waiting"

    def _finish(self, silent: list[str], *, last_chance: bool) -> str | None:
        """What came of the round; None where the aggregator waits for further openings."""
        try:
            record = self._federation.finish(last_chance=last_chance)
        except OpeningsContradict:
            return "aborted" if last_chance else None
        except SumRefused:
            return "aborted"
        unmasked = self._federation.now.unmasked
        assert unmasked is not None
        return _told(record.vector(), unmasked.disputed, silent)


class HttpRound:
    """Twenty clients, threshold 15: seventeen openings end it where they agree, else all are waited for: two mended."""

    mends, early = 2, 17

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
        self._parties = aggregator.enrol(20)
        self.names = tuple(party.name for party in self._parties)
        aggregator.advance()

    def contribute_all(
        self, tampers: Mapping[str, Tamper] | None = None, codecs: Mapping[str, Any] | None = None
    ) -> None:
        """See the protocol."""
        for party in self._parties:
            tamper, codec = (tampers or {}).get(party.name), (codecs or {}).get(party.name)
            party.send_contribution(_made(party.check(), party.client, tamper, codec).encode())

    def open_all(self, lies: Mapping[str, Lie]) -> str:
        """See the protocol."""
        silent = []
        for party in self._parties:
            if self._aggregator.round(1).stage is not Stage.OPENING:
                break
            try:
                answer = Signed[Opening].decode(party.opening())
            except CohortRefused:
                silent.append(party.name)
                continue
            lie = lies.get(party.name)
            party.send_opening((answer if lie is None else lie(party.client, answer)).encode())
        if self._aggregator.round(1).stage is not Stage.PUBLISHED:
            return self._aggregator.round(1).stage.value.lower()
        leaf = next(leaf for leaf in reversed(self._aggregator.leaves()) if leaf.kind == "prior")
        return _told(self._aggregator.prior().vector(), leaf.disputed, silent)


@contextmanager
def round_over_http(folder: Path, rules: AggregationRules | None = None) -> Iterator[HttpRound]:
    """A round at a real aggregator behind a real socket."""
    with served(folder, settings_of(rules=rules, min_clients=20), keeps_deadlines=False) as aggregator:
        yield HttpRound(aggregator)
