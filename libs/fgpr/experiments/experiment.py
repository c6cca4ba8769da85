"""What an experiment is: cells, how one of them runs, and how a system is set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fgpr.errors import DataError
from fgpr.experiments.records import Cell

Values = Mapping[str, Any]
Run = Callable[[Cell], Values]


@dataclass(frozen=True, slots=True)
class System:
    """One row of a table.

    Attributes:
        name: on the command line.
        title: in tables.
        settings: all that it is set by, as JSON; a change of them makes old records void.
        needs_torch: it is one of the PyTorch baselines.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    needs_torch: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure.

    Attributes:
        name: on the command line.
        title: in the report.
        systems: its rows, in order.
        items: what each learns.
        variants: designs or splits; one empty name where there is one alone.
        first_seed: seeds are first_seed, first_seed + 1, ...
        repeats: how many unless the command says otherwise.
        run: runs a cell.
        deterministic: pairs of a system and a variant with nothing random in them; one seed stands for all.
    """

    name: str
    title: str
    systems: tuple[System, ...]
    items: tuple[str, ...]
    variants: tuple[str, ...]
    first_seed: int
    repeats: int
    run: Run
    deterministic: frozenset[tuple[str, str]] = frozenset()

    def system(self, name: str) -> System:
        """The system of that name.

        Raises:
            DataError: there is none.
        """
        for system in self.systems:
            if system.name == name:
                return system
        raise DataError(f"{self.name} has no system {name!r}; there are {', '.join(one.name for one in self.systems)}")

    def cells(
        self,
        repeats: int,
        systems: Sequence[str] = (),
        items: Sequence[str] = (),
        variants: Sequence[str] = (),
    ) -> list[Cell]:
        """Cells seed by seed, so that a run that is cut off has whole seeds.

        Args:
            repeats: number of seeds; what is deterministic has the first alone.
            systems: those that are wanted; none for all.
            items: as systems.
            variants: as systems.

        Raises:
            DataError: a name that there is not, or no repeats.
        """
        if repeats < 1:
            raise DataError(f"{repeats} repeats: at least 1")
        for system in systems:
            self.system(system)
        chosen = [
            _wanted(self.name, *each) for each in (("item", items, self.items), ("variant", variants, self.variants))
        ]
        names = list(systems) or [system.name for system in self.systems]
        seeds = range(self.first_seed, self.first_seed + repeats)
        return [
            Cell(self.name, item, variant, system, seed)
            for seed, variant, item, system in product(seeds, chosen[1], chosen[0], names)
            if seed == self.first_seed or (system, variant) not in self.deterministic
        ]


def _wanted(experiment: str, kind: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in names:
        if name not in known:
            raise DataError(f"{experiment} has no {kind} {name!r}; there are {', '.join(known)}")
    return list(names) or list(known)
