"""`agent.toml`: what an engine's owner tells the agent once, in its home or wherever --config says.

Every key is known or refused, with the nearest known one named: a floor that is misspelled is no floor.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from client_agent.datafile import Missing
from client_agent.intake import nearest
from fgpr.errors import DataError, EncodingError
from fgpr.message import describe
from fgpr.secagg.suites import SuiteName

FILE_NAME = "agent.toml"

KEY_ID = r"\A[A-Za-z0-9_-]{43}\z"
"""A key id, as `fgpr-agent enrol` prints it."""

KeyId = Annotated[str, Field(pattern=KEY_ID)]
OutOfRange = Literal["drop", "refuse"]
T = TypeVar("T")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True)


class DataSection(_Section):
    """Where the rows are, and which of them count.

    Attributes:
        file: of the rows; one that is no absolute path is taken from the folder of agent.toml.
        unit: take the rows of this unit only.
        missing: cells that hold no value, as texts or numbers; empty cells and NaN never do.
        out_of_range: whether a row outside the federation's ranges is dropped, or the whole file refused.
        growing: the file is being written: a last line without its line end is left for the next round.
    """

    file: str | None = None
    unit: int | None = None
    missing: Annotated[tuple[str | float, ...], Field(strict=False)] = ()
    out_of_range: OutOfRange = "drop"
    growing: bool = True

    @property
    def holes(self) -> Missing:
        """Which cells hold no value."""
        return Missing.declared(self.missing)


class Column(_Section):
    """The owner's column for one of the federation's names.

    Attributes:
        column: its name in the file; None where it is the federation's.
        unit: its unit; None where it is the federation's.
    """

    column: Annotated[str | None, Field(alias="from", min_length=1)] = None
    unit: Annotated[str | None, Field(min_length=1)] = None


class FloorSection(_Section):
    """The weakest plans that the owner takes; None where nothing is said. `client_agent.owner_floors` joins them.

    Attributes:
        gamma, min_cohort, committee, weight_cap, suite, carries, groups, noise: of `fgpr.secagg.history.Floors`.
        required_peers: key ids that have to stand in the roster, not revoked.
        accepted_peers: the only key ids, besides the agent's own, that may be invited or seated.
        epsilon, delta: of `fgpr.federated.accounting.Budget`.
    """

    gamma: Annotated[float | None, Field(ge=0, le=1)] = None
    min_cohort: Annotated[int | None, Field(ge=3)] = None
    committee: Annotated[int | None, Field(ge=3)] = None
    weight_cap: Annotated[int | None, Field(ge=1)] = None
    suite: SuiteName | None = None
    carries: Annotated[int | None, Field(ge=0)] = None
    groups: Annotated[int | None, Field(ge=1)] = None
    noise: Annotated[float | None, Field(ge=0)] = None
    required_peers: Annotated[frozenset[KeyId], Field(strict=False)] = frozenset()
    accepted_peers: Annotated[frozenset[KeyId] | None, Field(strict=False)] = None
    epsilon: Annotated[float | None, Field(gt=0)] = None
    delta: Annotated[float | None, Field(gt=0, lt=1)] = None


class ConnectionSection(_Section):
    """The way to the aggregator.

    Attributes:
        proxy: address of an HTTP proxy; None leaves it to HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
    """

    proxy: str | None = None

    @field_validator("proxy")
    @classmethod
    def _an_address(cls, proxy: str | None) -> str | None:
        if proxy is not None and not proxy.startswith(("http://", "https://")):
            raise ValueError("a proxy is named as in http://HOST:PORT")
        return proxy


class AgentToml(_Section):
    """The whole file.

    Attributes:
        data: where the rows are.
        columns: the owner's columns, by the federation's names of features and target.
        floors: the weakest plans that the owner takes.
        connection: the way to the aggregator.
    """

    data: DataSection = DataSection()
    columns: dict[str, Column] = Field(default_factory=dict)
    floors: FloorSection = FloorSection()
    connection: ConnectionSection = ConnectionSection()


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataSection,
    "columns": Column,
    "floors": FloorSection,
    "connection": ConnectionSection,
}


def load(home: Path, config: Path | None = None) -> AgentToml:
    """The settings of an agent.

    Args:
        home: its home, whose agent.toml is read where there is one.
        config: another file, which has to exist.

    Raises:
        EncodingError: no TOML, an unknown key, or a value that the key does not take; names file and key.
        DataError: `config` cannot be read.
    """
    path = home / FILE_NAME if config is None else config
    try:
        # Editors of some systems begin a file with a mark.
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        if config is not None:
            raise DataError(f"{path}: there is no such file") from None
        return AgentToml()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> AgentToml:
    """The settings in the text of a file; raises as `load`."""
    try:
        settings = AgentToml.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise EncodingError(f"{path}: no TOML: {error}") from error
    except ValidationError as error:
        raise EncodingError(
            f"{path}: {_unknown(error) or _misspelled(error) or describe('agent.toml', error)}"
        ) from None
    given = settings.data.file
    if given is None or Path(given).is_absolute():
        return settings
    data = settings.data.model_copy(update={"file": str(path.parent / given)})
    return settings.model_copy(update={"data": data})


def _unknown(error: ValidationError) -> str | None:
    """What is said of the first key that is not known."""
    for fault in error.errors():
        if fault["type"] != "extra_forbidden":
            continue
        *section, key = (str(part) for part in fault["loc"])
        model = _SECTIONS[section[0]] if section else AgentToml
        known = [field.alias or name for name, field in model.model_fields.items()]
        place = f"[{'.'.join(section)}]" if section else "the file"
        return f"{place} has no key {key!r}{nearest(key, known)}; known are {', '.join(known)}"
    return None


_SHAPES = {
    "tuple_type": "a list is needed, as in ['n/a', -999]",
    "frozen_set_type": "a list of key ids is needed, as in ['...', '...']",
    "string_pattern_mismatch": "this is no key id: those have 43 letters, digits, - and _; fgpr-agent enrol prints it",
    "model_type": "a section is needed, with its keys on lines of their own below its name in brackets",
}


def _misspelled(error: ValidationError) -> str | None:
    """What is said of the first value of another shape, without the words of Python."""
    fault = error.errors()[0]
    said = _SHAPES.get(fault["type"])
    return None if said is None else f"{'.'.join(str(part) for part in fault['loc'])}: {said}"
