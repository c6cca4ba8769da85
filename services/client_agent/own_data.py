"""The rows of an agent at work: read anew for the model of each round, and what became of them told each time."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from client_agent import own_rows
from client_agent.agent_toml import AgentToml
from client_agent.local_data import Columns
from client_agent.own_rows import Report
from fgpr.errors import LocalProtocolError
from fgpr.gp.model import ModelSpec


@dataclass(frozen=True)
class OwnData:
    """A source of rows (`client_agent.local_data.Source`).

    Attributes:
        path: the file; it may grow between two rounds.
        settings: of the owner.
        unit: take the rows of this unit only; else as the settings say.
        target: the owner's column of the target; else as the settings say.
        on_report: is told what became of the rows, each time.
    """

    path: Path
    settings: AgentToml
    unit: int | None = None
    target: str | None = None
    on_report: Callable[[Report], None] = lambda _: None

    def __call__(self, spec: ModelSpec) -> Columns:
        """The rows by the model's names, in its units; raises as `client_agent.own_rows.read`."""
        columns, report = own_rows.read(spec, self.path, self.settings, unit=self.unit, target=self.target)
        self.on_report(report)
        return columns


def file_of(data: Path | None, settings: AgentToml) -> Path:
    """The data file: that of the command line, else that of agent.toml.

    Raises:
        LocalProtocolError: neither names one.
    """
    if data is not None:
        return data
    if settings.data.file is None:
        raise LocalProtocolError("no data: name a file with --data, or as file = '...' under [data] in agent.toml")
    return Path(settings.data.file)
