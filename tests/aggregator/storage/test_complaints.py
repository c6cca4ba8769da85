import pytest

from aggregator.storage import complaints
from fgpr.errors import Unavailable
from fgpr.message import Signed
from fgpr.secagg.messages import AccusedBox, Complaint, Contribution
from support.aggregator import Aggregator
from support.client import NAME


def test_one_complaint_a_member_and_round(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    header = Contribution.decode(parties[1].contribution()).header
    message = Complaint(
        federation=NAME,
        round=1,
        plan=bytes(32),
        cohort=bytes(32),
        client="client-00",
        seat=1,
        boxes=(AccusedBox(header=header, box=bytes(32), path=()),),
    )
    signed = Signed[Complaint].make(parties[0].client.identity_key, message)
    with aggregator.context.database.write() as connection:
        complaints.add(connection, signed)
    with pytest.raises(Unavailable, match="another request"), aggregator.context.database.write() as connection:
        complaints.add(connection, signed)
    with aggregator.context.database.read() as connection:
        assert complaints.read(connection, NAME, 1) == {"client-00": signed}
        assert complaints.members(connection, NAME, 1) == {"client-00"}
        assert complaints.members(connection, NAME, 2) == set()
