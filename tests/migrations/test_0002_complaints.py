"""From the first schema to the second and back, with rows in it."""

from pathlib import Path

from support.used_database import downgraded


def test_a_used_database_goes_back_and_forth(tmp_path: Path, database_url: str) -> None:
    with downgraded(tmp_path, database_url, "0001") as schema:
        assert "complaints" not in schema.get_table_names()
