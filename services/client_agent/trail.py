"""The audit log as one agent sees it: its checkpoints form one line, and the last one is kept on disk.

A log that once was longer, or held something else, shows at the next look, however late that is. Then nothing more is
done, and both signed checkpoints are kept: together they prove to anybody what the aggregator did.
"""

from pathlib import Path

from client_agent import durable_file, lock
from client_agent.federation_client import FederationClient
from fgpr import merkle
from fgpr.auditlog.bundle import fingerprint, open_position
from fgpr.errors import EncodingError, RemoteProtocolError, VerificationError
from fgpr.secagg.log_span import LogSpan
from fgpr.secagg.messages import LogPosition

FILE_NAME = "checkpoint.json"
NOTE_NAME = "checkpoint.txt"
REFUSED_NAME = "refused-checkpoint.txt"
"""The last checkpoint that was kept, as it was signed, and the one that does not continue it."""

LOCK_NAME = "checkpoint.lock"

MOST_LEAVES = 100_000
"""Most leaves that a member reads for one cohort; a round has a few, a roster stays for some rounds."""

PAGE = 100
"""Most leaves that are asked for at once: those of a large federation come to megabytes."""


def kept(home: Path) -> LogPosition | None:
    """The last checkpoint that the agent of a home kept; for reading beside an agent at work.

    Raises:
        EncodingError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        return LogPosition.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except EncodingError as error:
        raise EncodingError(f"{path} is damaged ({error}): restore it from a backup") from error


class Trail:
    """The log of one aggregator.

    Args:
        home: where the last checkpoint is kept; two processes may share it.
        client: asks the aggregator.
        service_key: signs the checkpoints, 32 bytes.
    """

    def __init__(self, home: Path, client: FederationClient, service_key: bytes) -> None:
        self._home = home
        self._path = home / FILE_NAME
        self._lock = home / LOCK_NAME
        self._client = client
        self._service_key = service_key
        self._last_proof: tuple[int, int, merkle.Proof] = (0, 0, ())
        self._shown: tuple[LogPosition, str] | None = None

    def kept(self) -> LogPosition | None:
        """The last checkpoint that was kept.

        Raises:
            EncodingError: the file is damaged.
        """
        return kept(self._home)

    def newest(self) -> LogPosition:
        """The newest checkpoint that the aggregator shows; its signature holds, and the log did not go back.

        Raises:
            VerificationError: the signature does not hold, it is another log's, or the log is shorter than it was.
            EncodingError: not a checkpoint.
        """
        # Before it is asked: another process may keep a later one meanwhile.
        kept = self.kept()
        note = self._client.checkpoint()
        position = open_position(note, self._service_key)
        self._shown = position, note
        if kept is not None and position.size < kept.size:
            raise self.accusation(kept, position, "it went back, as after an old backup")
        return position

    def proof(self, old: LogPosition | None, new: LogPosition) -> merkle.Proof:
        """A consistency proof as the aggregator gives it; empty where none is needed or none can exist."""
        if old is None or not 0 < old.size < new.size:
            return ()
        if self._last_proof[:2] != (old.size, new.size):
            self._last_proof = (old.size, new.size, self._client.consistency(old.size, new.size))
        return self._last_proof[2]

    def follow(self, position: LogPosition) -> None:
        """Check a checkpoint against the kept one, and keep the later of the two.

        Raises:
            VerificationError: neither log continues the other.
        """
        while True:
            kept = self.kept()
            old, new = (kept, position) if kept is None or kept.size <= position.size else (position, kept)
            try:
                self.verify(old, new)
            except VerificationError as error:
                raise self.accusation(kept or position, position, str(error)) from error
            with lock.held(self._lock, wait=True):
                # Another process may have kept a later one meanwhile: then that one is compared, too.
                if self.kept() == kept:
                    if new != kept:
                        durable_file.replace(self._path, new.encode())
                        if self._shown is not None and self._shown[0] == new:
                            durable_file.replace(self._home / NOTE_NAME, self._shown[1].encode())
                    return

    def accusation(self, kept: LogPosition, shown: LogPosition, reason: str) -> VerificationError:
        """What is raised where a checkpoint does not continue the kept one; the signed one is written down first.

        Args:
            kept: what this agent holds.
            shown: what does not continue it.
            reason: why not.
        """
        told = "it names"
        if self._shown is not None and self._shown[0] == shown:
            durable_file.replace(self._home / REFUSED_NAME, self._shown[1].encode())
            told = f"the aggregator signed ({self._home / REFUSED_NAME})"
        return VerificationError(
            f"the audit log does not continue the one that this agent holds. It holds {fingerprint(kept)} "
            f"({self._path}); {told} {fingerprint(shown)}: {reason}. Nothing is done any more; report both"
        )

    def verify(self, old: LogPosition | None, new: LogPosition) -> None:
        """Check that the log of `new` begins with that of `old`.

        Raises:
            VerificationError: it does not.
        """
        if old is not None:
            merkle.verify_consistency(old.size, old.root, new.size, new.root, self.proof(old, new))

    def span(self, start: LogPosition, end: LogPosition, kept: LogPosition | None) -> LogSpan:
        """The leaves between two checkpoints and the proof from the second to the kept one; the member checks them.

        Raises:
            RemoteProtocolError: the aggregator gives other leaves than were asked for, or there are too many.
            EncodingError: the frontier does not have its form.
        """
        if end.size - start.size > MOST_LEAVES:
            raise RemoteProtocolError(
                f"{end.size - start.size} leaves to read for one cohort; at most {MOST_LEAVES} are read"
            )
        position, last = start.size, max(start.size, end.size)
        leaves: list[bytes] = []
        frontier: merkle.Frontier | None = None
        while frontier is None or position < last:
            page = self._client.entries(position, min(last, position + PAGE))
            if (page.start, page.end) != (position, position + len(page.leaves)) or page.end > last:
                raise RemoteProtocolError(f"leaves {page.start} to {page.end} of the log are not those asked for")
            if frontier is None:
                frontier = merkle.Frontier(position, page.frontier)
            elif not page.leaves:
                raise RemoteProtocolError(f"the log ends at leaf {position}, before the {last} that a checkpoint names")
            leaves += page.leaves
            position = page.end
        return LogSpan(frontier, tuple(leaves), () if kept is None else self.proof(end, kept))
