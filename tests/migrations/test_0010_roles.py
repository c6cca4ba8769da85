"""From the schema before roles to roles and back, with rows in it."""

from pathlib import Path

from sqlalchemy import inspect, text

from aggregator.service import staff
from aggregator.storage import migrate
from support.aggregator import served


def test_a_used_database_goes_back_and_forth(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, keeps_deadlines=False, url=database_url) as aggregator:
        aggregator.enrol(4)
        aggregator.advance()
        staff.invite(aggregator.context, "olga", "operator")
        before, database = aggregator.dump(), aggregator.context.database
        migrate.downgrade(database, "0004")
        found = inspect(database.engine)
        assert not {"staff", "staff_tickets", "retired_keys"} & set(found.get_table_names())
        assert not {"state", "released"} & {column["name"] for column in found.get_columns("federations")}
        assert "issued_by" not in {column["name"] for column in found.get_columns("tickets")}
        migrate.upgrade(database)
        after = aggregator.dump()
        kept = {"installation", "staff", "staff_tickets", "retired_keys", "tickets"}
        assert {name: rows for name, rows in after.items() if name not in kept} == {
            name: rows for name, rows in before.items() if name not in kept
        }
        # A federation of before is open, and its tickets were issued by nobody who is known.
        with database.read() as connection:
            assert connection.execute(text("SELECT state, released FROM federations")).all() == [("open", None)]
            issuers = connection.execute(text("SELECT issued_by FROM tickets")).scalars().all()
        assert issuers == [None] * 4
