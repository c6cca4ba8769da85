from datetime import timedelta

from aggregator.storage import staff
from aggregator.storage.staff import StaffTicketRow
from support.aggregator import Aggregator


def test_a_ticket_is_taken_once(aggregator: Aggregator) -> None:
    row = StaffTicketRow(bytes(32), "olga", "operator", aggregator.clock() + timedelta(days=1), None)
    with aggregator.context.database.write() as connection:
        staff.add_ticket(connection, row)
        assert staff.read_ticket(connection, bytes(32)) == row
        assert staff.take_ticket(connection, bytes(32), b"key one")
        assert not staff.take_ticket(connection, bytes(32), b"key two")
        assert not staff.take_ticket(connection, b"\1" * 32, b"key two")
        taken = staff.read_ticket(connection, bytes(32))
    assert taken is not None
    assert taken.used_by == b"key one"
