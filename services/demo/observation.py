"""What the demonstration alone can see: each agent's theta before it is masked.

Agents never tell it to anybody. The launcher of the demonstration hands `participate` an observer that writes to the
demonstration's own folder, so that published priors can be held against the exact weighted average.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fgpr.federated.fedavg import Contribution, weighted_average
from fgpr.gp.arrays import Array


class Notebook:
    """Thetas that agents trained, by round, in a folder of the demonstration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, round_number: int, client: str, theta: Array, observations: int) -> None:
        """Note what a client trained for a round."""
        self._folder.mkdir(parents=True, exist_ok=True)
        line = {"theta": [float(number) for number in theta], "observations": observations}
        path = self._path(round_number, client)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(line))
        draft.replace(path)

    def exact_average(self, round_number: int, clients: Iterable[str]) -> Array:
        """The weighted average that the round's prior should be."""
        contributions = []
        for client in clients:
            line = json.loads(self._path(round_number, client).read_text())
            contributions.append(Contribution(client, np.array(line["theta"]), line["observations"]))
        return weighted_average(contributions)

    def _path(self, round_number: int, client: str) -> Path:
        return self._folder / f"{round_number:06d}-{client}.json"
