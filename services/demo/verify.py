"""Holds a kept database against what was kept beside it, outside the database."""

import json
from pathlib import Path

from aggregator.service.inspection import Anchors, verify_database
from aggregator.settings import without_password
from aggregator.storage.engine import Database
from fgpr import canonical
from fgpr.auditlog.trail import Trail
from fgpr.errors import DataError, FgprError

ANCHORS = "anchors.json"


def keep_anchors(folder: Path, anchors: Anchors, database: str) -> None:
    """Write down what a verifier must hold: a checkpoint, the public keys, and where the database is.

    A password is left out: it is the database's, and whoever may verify has it by `PGPASSWORD` or `~/.pgpass`.
    """
    kept = {
        "checkpoint": anchors.note,
        "service_key": canonical.to_text(anchors.service_key),
        "roster_keys": {name: canonical.to_text(key) for name, key in anchors.roster_keys.items()},
        "database": without_password(database),
    }
    (folder / ANCHORS).write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def verify_kept(folder: Path, database: str | None = None) -> Trail:
    """Verify the database of a folder that `--keep` left.

    Args:
        folder: that folder.
        database: URL of the database, password and all; by default the one that was written down.

    Raises:
        DataError: there are no anchors.
        FgprError: the first thing that does not hold.
    """
    try:
        kept = json.loads((folder / ANCHORS).read_text(encoding="utf-8"))
        anchors = Anchors(
            kept["checkpoint"],
            canonical.from_text(kept["service_key"]),
            {name: canonical.from_text(key) for name, key in kept["roster_keys"].items()},
        )
        url = str(kept["database"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, FgprError) as error:
        raise DataError(f"{folder / ANCHORS} does not tell what to verify against: {error}") from error
    # A folder that was moved is still the same folder.
    if url.startswith("sqlite"):
        path = folder / "aggregator" / Path(url.removeprefix("sqlite:///")).name
        if not path.is_file():
            raise DataError(f"there is no database at {path}")
        url = f"sqlite:///{path}"
    opened = Database(database or url)
    try:
        return verify_database(opened, anchors)
    finally:
        opened.close()
