from itertools import islice

from benchmarks_log.long_log import NAME, LongLog
from fgpr.auditlog.verification import verify_trail
from fgpr.secagg.messages import LogPosition


def test_a_long_log_verifies_from_its_first_leaf() -> None:
    made = LongLog(5)
    leaves = list(islice(made.leaves(), 100))
    held = LogPosition(size=made.frontier.size, root=made.frontier.root())
    trail = verify_trail(leaves, held, made.public_key)
    assert trail.leaves == held.size == 100
    assert trail.newest_round(NAME) == 11
    assert [version for _, version in trail.priors] == list(range(11))
    assert {len(one.clients) for one in trail.witnessed} == {5}
