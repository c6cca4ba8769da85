"""What the tests of `fgpr-audit` share: a log in a bundle and online, and the command itself."""

from pathlib import Path
from typing import Any

from fgpr.auditlog import checkpoint
from fgpr.auditlog.bundle import Bundle
from fgpr.auditlog.checkpoint import Checkpoint
from support.agent_home import InMemory
from support.federation import Federation
from support.forged_log import position_of


def note_of(made: Federation, leaves: list[bytes]) -> str:
    name, position = checkpoint.name_of(made.anchors.service_key), position_of(leaves)
    return checkpoint.sign(Checkpoint(name, position.size, position.root), name, made.service_key)


def bundle_of(made: Federation, leaves: list[bytes] | None = None, path: Path | None = None) -> Any:
    raw = made.log.leaves if leaves is None else leaves
    bundle = Bundle(made.anchors.service_key, (note_of(made, raw),), tuple(raw))
    if path is not None:
        path.write_bytes(b"".join(bundle.lines()))
    return bundle


class OverHttp(InMemory):
    """The aggregator in memory, in the place of `Api`."""

    def __enter__(self) -> "OverHttp":
        return self

    def __exit__(self, *_: object) -> None:
        pass
