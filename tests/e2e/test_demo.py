"""The demonstration as its user runs it: figures, dying agents, a kept database that is tampered with."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.demo_command import as_process, in_process
from support.postgres import Postgres

pytestmark = pytest.mark.slow

FIGURES = {
    "clients": int,
    "new_engines": int,
    "rounds_published": int,
    "rounds_aborted": int,
    "aggregate_max_error": float,
    "rmse_prior_mean": float,
    "rmse_prior_sd": float,
    "rmse_optimum_mean": float,
    "rmse_noise_floor": float,
    "coverage_95": float,
    "audit_entries": int,
    "audit_verified": bool,
    "seconds": float,
    "seconds_per_round": float,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a short demonstration left behind."""
    folder = tmp_path_factory.mktemp("demo")
    done = as_process(
        *("--clients", "5", "--new-engines", "3", "--rounds", "3", "--seed", "1"),
        *("--keep", str(folder / "kept"), "--json", str(folder / "out.json"), "--report", str(folder / "report")),
    )
    assert done.returncode == 0, done.stderr
    assert "audit trail" in done.stdout
    assert "verified" in done.stdout
    return folder


def _figures(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return figures


def test_the_figures_are_there_and_hold(kept: Path) -> None:
    figures = _figures(kept)
    assert {name: type(value) for name, value in figures.items()} == FIGURES
    assert (figures["clients"], figures["new_engines"]) == (5, 3)
    assert (figures["rounds_published"], figures["rounds_aborted"]) == (3, 0)
    assert figures["aggregate_max_error"] <= 1e-6
    assert figures["audit_verified"] is True
    # Three rounds of Adam from the start values are near, not at, the optimum; noise bounds both from below.
    assert 0.3 < figures["rmse_optimum_mean"] < figures["rmse_prior_mean"] * 1.05 < 1.2
    assert 0.85 <= figures["coverage_95"] <= 1.0


def test_a_picture_of_a_new_engine_is_drawn(kept: Path) -> None:
    assert (kept / "report" / "prediction.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_kept_database_verifies(kept: Path) -> None:
    done = as_process("--verify", str(kept / "kept"))
    assert done.returncode == 0, done.stderr
    assert "audit_verified true" in done.stdout


@pytest.mark.parametrize(
    ("table", "column", "key"),
    [
        ("log_leaves", "leaf", "[index]"),
        ("priors", "document", "version"),
        ("rosters", "document", "version"),
        ("rounds", "plan", "number"),
    ],
)
def test_one_changed_byte_is_found(kept: Path, table: str, column: str, key: str) -> None:
    path = kept / "kept" / "aggregator" / "federation.db"
    with sqlite3.connect(path) as connection:
        ((place, document),) = connection.execute(
            f"select {key}, {column} from {table} order by {key} desc limit 1"  # noqa: S608
        ).fetchall()
        middle = len(document) // 2
        changed = document[:middle] + bytes([document[middle] ^ 1]) + document[middle + 1 :]
        connection.execute(f"update {table} set {column} = ? where {key} = ?", (changed, place))  # noqa: S608
    try:
        done = in_process("--verify", str(kept / "kept"))
    finally:
        with sqlite3.connect(path) as connection:
            connection.execute(f"update {table} set {column} = ? where {key} = ?", (document, place))  # noqa: S608
    assert done.exit_code == 1
    assert "audit_verified false" in done.stdout
    assert done.stderr.startswith("fgpr-demo: ")
    assert "Traceback" not in done.stderr


def test_with_dying_agents_every_round_publishes(tmp_path: Path) -> None:
    done = as_process(
        *("--clients", "6", "--new-engines", "2", "--rounds", "3", "--drop", "0.2"),
        *("--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "out.json")),
    )
    assert done.returncode == 0, done.stderr
    figures = _figures(tmp_path)
    assert (figures["rounds_published"], figures["rounds_aborted"]) == (3, 0)
    assert figures["aggregate_max_error"] <= 1e-6
    assert figures["audit_verified"] is True
    with sqlite3.connect(tmp_path / "kept" / "aggregator" / "federation.db") as connection:
        cohorts = [
            len(json.loads(cohort)["message"]["members"])
            for (cohort,) in connection.execute("select cohort from rounds where stage = 'published' order by number")
        ]
    # The first agent dies before it contributes, the other two after: only the first is missing from its cohort.
    assert cohorts == [5, 6, 6]


def test_a_wish_that_cannot_be_met_is_one_line(tmp_path: Path) -> None:
    done = as_process("--sensor", "1", "--clients", "4", "--new-engines", "1")
    assert done.returncode == 1
    assert done.stderr.startswith("fgpr-demo: there is no sensor 1")
    assert len(done.stderr.splitlines()) == 1
    done = in_process("--clients", "6", "--drop", "0.25")
    assert done.exit_code == 1
    assert done.stderr.startswith("fgpr-demo: drop 0.25 kills 2 of 6 agents in each round")
    (tmp_path / "old").write_text("something")
    done = in_process("--keep", str(tmp_path))
    assert (done.exit_code, "not empty" in done.stderr) == (1, True)
    done = in_process("--verify", str(tmp_path))
    assert (done.exit_code, "anchors.json" in done.stderr) == (1, True)


def test_on_postgresql_the_same_holds(tmp_path: Path, postgresql: Postgres) -> None:
    with postgresql.database(migrated=False) as url:
        done = as_process(
            *("--clients", "4", "--new-engines", "1", "--rounds", "2", "--database", url),
            *("--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "out.json")),
        )
        assert done.returncode == 0, done.stderr
        figures = _figures(tmp_path)
        assert (figures["rounds_published"], figures["audit_verified"]) == (2, True)
        assert figures["aggregate_max_error"] <= 1e-6
        again = in_process("--verify", str(tmp_path / "kept"), "--database", url)
        assert "audit_verified true" in again.stdout
