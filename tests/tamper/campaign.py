"""All of the tampering against one database: each in a transaction into which both auditors look, then given up."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tamper import histories
from tamper.auditor import doctor_finds, outsider_finds
from tamper.site import Site
from tamper.tampering import Tampering


class _GivenUp(Exception):
    """Rolls the transaction back."""


@dataclass
class Tally:
    """What was found of one kind.

    Attributes:
        kind: of tampering.
        total: how many there were.
        outside: of these, how many somebody found who only reads the log and holds one checkpoint.
        doctor: how many the doctor found; None where there is no database to look into.
        missed: those that somebody did not find.
    """

    kind: str
    total: int = 0
    outside: int = 0
    doctor: int | None = 0
    missed: tuple[str, ...] = ()


def tally(found: dict[str, Tally], kind: str, what: str, outside: bool, doctor: bool | None) -> None:
    """Count one."""
    one = found.setdefault(kind, Tally(kind))
    one.total += 1
    one.outside += outside
    one.doctor = None if doctor is None or one.doctor is None else one.doctor + doctor
    if not outside or doctor is False:
        one.missed = (*one.missed, what)


def run(site: Site, chosen: Iterable[Tampering], told: Callable[[], None] = lambda: None) -> dict[str, Tally]:
    """Try each, and what each auditor says to it."""
    found: dict[str, Tally] = {}
    for one in chosen:
        database = site.aggregator.context.database
        try:
            with database.write() as connection:
                one.apply(connection)
                outside, doctor = outsider_finds(connection, site.anchors), doctor_finds(connection, site.anchors)
                raise _GivenUp
        except _GivenUp:
            tally(found, one.kind, one.what, outside, doctor)
        told()
    return found


def run_forks(
    chosen: Iterable[tuple[int, histories.Shown, histories.Shown]], told: Callable[[], None] = lambda: None
) -> dict[str, Tally]:
    """Two histories at each place."""
    found: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="fgpr-tamper-") as name:
        for place, first, second in chosen:
            what, home = f"parting at leaf {place}", Path(name) / str(place)
            tally(found, "two histories, one agent sees both", what, histories.agent_finds(home, first, second), None)
            tally(found, "two histories, two agents compare", what, histories.two_agents_find(first, second), None)
            told()
    return found


def honest(site: Site) -> Iterator[str]:
    """What either auditor says against the untouched database: nothing, or the rest proves nothing."""
    with site.aggregator.context.database.read() as connection:
        if outsider_finds(connection, site.anchors):
            yield "the outsider finds fault with the honest log"
        if doctor_finds(connection, site.anchors):
            yield "the doctor finds fault with the honest database"
