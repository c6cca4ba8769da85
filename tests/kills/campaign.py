"""The campaign: for each act a copy of the database and a fork of the clients, and in each one fault."""

import gc
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from aggregator import main
from aggregator.keys import KeyDirectory
from aggregator.service import federations, operator
from aggregator.settings import Settings
from kills.branches import run_all
from kills.copies import Copies, copied
from kills.faults import Fault, Faults
from kills.process import quiet
from kills.script import CLIENTS, Act, acts
from kills.site import Site
from kills.verdict import judge
from support.aggregator import GENEROUS, settings_of

T = TypeVar("T")

Choice = Callable[[int, Sequence[Fault]], Sequence[Fault]]
"""The faults to inject, of an act's place and all of its faults."""


@dataclass(frozen=True)
class Outcome:
    """What came of one fault.

    Attributes:
        act: in which.
        fault: which.
        injected: whether it happened.
        wrong: everything that did not hold afterwards.
    """

    act: str
    fault: Fault
    injected: bool
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Played:
    """One act of the script.

    Attributes:
        act: which.
        found: all its faults.
        outcomes: of those that were chosen.
    """

    act: Act
    found: Sequence[Fault]
    outcomes: Sequence[Outcome]


def prepare(copies: Copies, keys: Path, patch: Callable[[], None]) -> Site:
    """A new federation, its aggregator not started yet; `patch` is done in each aggregator's process."""
    settings = Settings(database=copies.new(), keys=keys, origin="http://aggregator.invalid", **GENEROUS)
    directory, federation = KeyDirectory(keys), settings_of(min_clients=len(CLIENTS))
    directory.ensure_service()
    site = Site(settings, patch)
    context = main.create_context(settings, site.clock)
    operator.start_log(context)
    federations.create(context, federation, directory.ensure_roster(federation.name))
    context.database.close()
    return site


def run(
    site: Site, copies: Copies, faults: Faults, choose: Choice, jobs: int, among: Callable[[Act], bool] = lambda _: True
) -> Iterator[Played]:
    """Play the script; in each act every chosen fault happens once, in a copy.

    Args:
        site: of `prepare`.
        copies: where databases come from.
        faults: which kinds of fault.
        choose: those to inject.
        jobs: processes at once.
        among: whether faults of an act are looked for at all.
    """
    script = acts()
    # What is loaded stays: collectors of forks that look through it would copy all of its pages.
    gc.collect()
    gc.freeze()
    last = max((place for place, act in enumerate(script) if among(act)), default=-1)
    for place, act in enumerate(script[: last + 1]):
        if among(act):
            yield _played(site, copies, faults, choose, jobs, place)
        site.start()
        act.play(site)
        site.stop()
        site.sent.clear()


def _played(site: Site, copies: Copies, faults: Faults, choose: Choice, jobs: int, place: int) -> Played:
    act, *later = acts()[place:]
    rest = [one for one in later if one.chapter == act.chapter]
    ((_, found),) = run_all([partial(_copied, site, copies, f"all_{place}", partial(faults.enumerate, act=act))], 1)
    if isinstance(found, RuntimeError):
        raise found
    chosen = choose(place, found)
    works = [
        partial(_copied, site, copies, f"fault_{place}_{number}", partial(_inject, faults, fault, act, rest))
        for number, fault in enumerate(chosen)
    ]
    outcomes = [
        Outcome(act.name, chosen[number], False, (str(made),)) if isinstance(made, RuntimeError) else made
        for number, made in run_all(works, jobs)
    ]
    return Played(act, found, outcomes)


def _copied(site: Site, copies: Copies, name: str, work: Callable[[Site], T]) -> T:
    """Do some work on a copy of the database, in this process, which is a fork."""
    quiet()
    with copied(copies, site.settings.database, name) as url, tempfile.TemporaryDirectory() as folder:
        # The newest checkpoint is kept beside the keys, and in each copy the log goes another way.
        keys = shutil.copytree(site.settings.keys, Path(folder) / "keys")
        site.settings = site.settings.model_copy(update={"database": url, "keys": keys})
        site.start()
        try:
            return work(site)
        finally:
            if site.process is not None:
                site.process.kill()


def _inject(faults: Faults, fault: Fault, act: Act, rest: Sequence[Act], site: Site) -> Outcome:
    injected = faults.inject(site, act, fault)
    # Deadlines look four times a second: whatever a fault put off is made up for before anybody does more.
    site.operate("look")
    for later in rest:
        later.play(site)
    site.operate("look")
    outcome = Outcome(act.name, fault, injected, ())
    return replace(outcome, wrong=tuple(judge(site, act.chapter)))
