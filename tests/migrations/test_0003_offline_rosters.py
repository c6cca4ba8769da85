"""From the second schema to the third and back, with rows in it."""

from pathlib import Path

from support.used_database import downgraded


def test_a_used_database_goes_back_and_forth(tmp_path: Path, database_url: str) -> None:
    with downgraded(tmp_path, database_url, "0002") as schema:
        columns = [column["name"] for column in schema.get_columns("federations")]
        assert "roster_stale" in columns
        assert "roster_offline" not in columns
