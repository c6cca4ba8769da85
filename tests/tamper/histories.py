"""Two histories shown to two agents, at every place where they can part: each signed with the real key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from client_agent.federation_client import FederationClient
from client_agent.trail import Trail
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.bundle import Bundle, open_position, verify_bundle
from fgpr.auditlog.checkpoint import Checkpoint
from fgpr.auditlog.entries import StateChanged
from fgpr.errors import FgprError, UnknownResource
from fgpr.rest import CheckpointView, LogProof
from tamper.site import Site


@dataclass(frozen=True)
class Shown:
    """One history, as an aggregator shows it: the connection of an agent."""

    site: Site
    leaves: tuple[bytes, ...]

    @property
    def note(self) -> str:
        """Its newest checkpoint, signed."""
        context = self.site.aggregator.context
        name = checkpoint.name_of(context.service_public())
        tree = self._tree()
        return checkpoint.sign(Checkpoint(name, tree.size, tree.root()), name, context.keys.service())

    def _tree(self) -> merkle.Tree:
        return merkle.Tree([merkle.leaf_hash(leaf) for leaf in self.leaves])

    def get_public(self, path: str, params: Any = None) -> bytes:
        if path == "/v1/log/checkpoint":
            return CheckpointView(note=self.note, service_key=self.site.anchors.service_key).encode()
        if path == "/v1/log/consistency":
            hashes = merkle.consistency_proof(params["old"], params["new"], self._tree().node)
            return LogProof(hashes=hashes).encode()
        raise UnknownResource(path)

    def get(self, path: str, params: Any = None) -> bytes:
        return self.get_public(path, params)

    def post(self, path: str, body: bytes) -> bytes:
        raise UnknownResource(f"{path} takes no {len(body)} bytes here")

    put = post

    def delete(self, path: str) -> bytes:
        raise UnknownResource(path)


def forks(site: Site, leaves: Sequence[bytes]) -> Iterator[tuple[int, Shown, Shown]]:
    """Where two histories part, and both."""
    for place in range(len(leaves)):
        false = StateChanged(federation="engines", state="resumed", reason=f"never said, {place}").encode()
        fork = (*leaves[:place], false, *leaves[place + 1 :])
        yield place, Shown(site, tuple(leaves)), Shown(site, fork)


def agent_finds(folder: Path, first: Shown, second: Shown) -> bool:
    """Whether the agent that follows the first history refuses the second."""
    folder.mkdir()
    key = first.site.anchors.service_key
    trail = Trail(folder, FederationClient(first, "engines"), key)
    trail.follow(trail.newest())
    other = Trail(folder, FederationClient(second, "engines"), key)
    try:
        other.follow(other.newest())
    except FgprError:
        return True
    return False


def two_agents_find(first: Shown, second: Shown) -> bool:
    """Whether two agents that followed one each find out, by one's newest checkpoint and the other's log."""
    key = first.site.anchors.service_key
    try:
        verify_bundle(Bundle(key, (second.note,), second.leaves), [open_position(first.note, key)])
    except FgprError:
        return True
    return False
