"""A kept folder with a real database, without any server: a federation that was created and had no round."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator import main
from demo import fleet, verify
from demo.aggregator_process import AggregatorProcess, federation_of
from fgpr import canonical, signatures
from fgpr.errors import DataError, FgprError, Unavailable

STRANGER = canonical.to_text(signatures.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    aggregator = AggregatorProcess(folder / "aggregator")
    aggregator.prepare(federation_of(fleet.gather(None, 4, 4, 1, seed=0), rounds=1, deadline=60.0))
    verify.keep_anchors(folder, aggregator.anchors(), aggregator.settings.database)
    aggregator.context.database.close()
    return folder


@pytest.fixture
def kept(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil; that it is somewhere else than its anchors say is no fault."""
    return shutil.copytree(original, tmp_path / "kept")


def change(folder: Path, **fields: Any) -> None:
    path = folder / verify.ANCHORS
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_what_is_kept_is_enough_and_holds_no_secret(original: Path) -> None:
    anchors = json.loads((original / verify.ANCHORS).read_text())
    assert set(anchors) == {"checkpoint", "service_key", "roster_keys", "database"}
    assert anchors["checkpoint"].startswith("fgpr-log/")
    assert set(anchors["roster_keys"]) == {"demo"}
    trail = verify.verify_kept(original)
    # The federation and its first prior have a leaf each; nothing else happens before somebody enrols.
    assert (trail.leaves, len(trail.rosters), len(trail.plans), len(trail.priors)) == (2, 0, 0, 1)


def test_a_folder_that_was_moved_is_verified_where_it_is(original: Path, kept: Path) -> None:
    assert verify.verify_kept(kept).leaves == 2
    # Not the original at its old place: without its own database the copy is nothing.
    (kept / "aggregator" / "federation.db").unlink()
    assert (original / "aggregator" / "federation.db").is_file()
    with pytest.raises(DataError, match=r"there is no database at .*kept/aggregator/federation\.db"):
        verify.verify_kept(kept)
    assert not (kept / "aggregator" / "federation.db").exists()


def test_without_anchors_nothing_can_be_verified(kept: Path) -> None:
    (kept / verify.ANCHORS).unlink()
    with pytest.raises(DataError, match=r"anchors\.json does not tell what to verify against"):
        verify.verify_kept(kept)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"checkpoint": "", "service_key": 5, "roster_keys": {}, "database": ""}',
        '{"checkpoint": "", "service_key": "AAAA", "roster_keys": [], "database": ""}',
        '{"checkpoint": "", "service_key": "not base64", "roster_keys": {}, "database": ""}',
    ],
)
def test_anchors_of_no_form_are_one_error(kept: Path, text: str) -> None:
    (kept / verify.ANCHORS).write_text(text)
    with pytest.raises(DataError, match=r"anchors\.json does not tell what to verify against"):
        verify.verify_kept(kept)


def test_anchors_that_are_no_utf_8(kept: Path) -> None:
    (kept / verify.ANCHORS).write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError, match=r"anchors\.json"):
        verify.verify_kept(kept)


@pytest.mark.parametrize(
    "fields",
    [
        {"checkpoint": ""},
        {"checkpoint": 5},
        {"service_key": STRANGER},
        {"service_key": ""},
        {"roster_keys": {"demo": STRANGER}},
    ],
    ids=str,
)
def test_other_anchors_do_not_verify(kept: Path, fields: dict[str, Any]) -> None:
    change(kept, **fields)
    with pytest.raises(FgprError):
        verify.verify_kept(kept)


def test_a_file_that_is_no_database(kept: Path) -> None:
    (kept / "aggregator" / "federation.db").write_bytes(b"no database at all\n" * 100)
    with pytest.raises(Unavailable, match="damaged, or is none: file is not a database"):
        verify.verify_kept(kept)


def test_a_database_with_a_page_of_rubbish(kept: Path) -> None:
    path = kept / "aggregator" / "federation.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(Unavailable, match="damaged, or is none: database disk image is malformed"):
        verify.verify_kept(kept)


def test_no_password_is_kept(original: Path, tmp_path: Path) -> None:
    aggregator = AggregatorProcess(original / "aggregator")
    aggregator.context = main.create_context(aggregator.settings)
    verify.keep_anchors(tmp_path, aggregator.anchors(), "postgresql+psycopg://fgpr:hunter2@db.example/fgpr")
    aggregator.context.database.close()
    kept = (tmp_path / verify.ANCHORS).read_text()
    assert "hunter2" not in kept
    assert json.loads(kept)["database"] == "postgresql+psycopg://fgpr@db.example/fgpr"


def test_another_address_of_the_kept_database(kept: Path, tmp_path: Path) -> None:
    moved = shutil.copy(kept / "aggregator" / "federation.db", tmp_path / "moved.db")
    change(kept, database="postgresql+psycopg://fgpr@/no?host=/nowhere")
    with pytest.raises(Unavailable, match="does not answer"):
        verify.verify_kept(kept)
    assert verify.verify_kept(kept, f"sqlite:///{moved}").leaves == 2
