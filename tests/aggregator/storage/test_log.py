import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from aggregator.storage import log, postgresql
from aggregator.storage.tables import log_leaves
from fgpr import merkle
from fgpr.errors import Unavailable, UnknownResource
from support.aggregator import Aggregator


def sign(size: int, root: bytes) -> str:
    return f"{size} {root.hex()}"


def test_appending_gives_the_tree_of_the_leaves(aggregator: Aggregator) -> None:
    leaves = aggregator.raw_leaves()
    for count in range(1, 20):
        more = [b"leaf %d" % (len(leaves) + place) for place in range(count % 4)]
        with aggregator.context.database.write() as connection:
            frontier = log.append(connection, more, sign)
        leaves += more
        tree = merkle.Tree([merkle.leaf_hash(leaf) for leaf in leaves])
        assert (frontier.size, frontier.root()) == (len(leaves), tree.root())
        with aggregator.context.database.read() as connection:
            stored, note = log.read_head(connection)
            assert (stored, note) == (frontier, sign(len(leaves), tree.root()))
            assert log.read_leaves(connection, 0, 10**6) == leaves
            assert log.read_leaves(connection, 1, 3) == leaves[1:3]
            node = log.node_reader(connection)
            for level in range(len(leaves).bit_length()):
                for index in range(len(leaves) >> level):
                    assert node(level, index) == tree.node(level, index)


def test_a_node_that_is_not_complete(aggregator: Aggregator) -> None:
    with aggregator.context.database.read() as connection:
        node = log.node_reader(connection)
        with pytest.raises(UnknownResource, match="no complete node 1 of level 1"):
            node(1, 1)


def test_the_nodes_of_a_proof_are_read_at_once(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    aggregator.enrol(3)
    leaves = [merkle.leaf_hash(leaf) for leaf in aggregator.raw_leaves()]
    tree, size = merkle.Tree(leaves), len(leaves)
    with aggregator.context.database.read() as connection:
        asked: list[object] = []
        execute = connection.execute
        monkeypatch.setattr(connection, "execute", lambda *arguments: asked.append(arguments) or execute(*arguments))
        proof = log.prove(connection, lambda node: merkle.inclusion_proof(2, size, node))
        assert proof == merkle.inclusion_proof(2, size, tree.node)
        assert len(asked) == 1
        assert log.prove(connection, lambda node: merkle.frontier(0, node)) == merkle.Frontier.empty()
        with pytest.raises(UnknownResource, match="no complete node 0 of level 30"):
            log.prove(connection, lambda node: node(30, 0))


def test_two_writers_of_one_head_never_fork_the_log(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    before, leaves = aggregator.dump(), aggregator.raw_leaves()
    with aggregator.context.database.read() as connection:
        old_head = log.read_head(connection)
    with aggregator.context.database.write() as connection:
        log.append(connection, [b"first"], sign)
    # The second read the head before the first one moved it, as without a lock it could.
    monkeypatch.setattr(log, "read_head", lambda *_, **__: old_head)
    with (
        pytest.raises(Exception, match=r"moved meanwhile|UNIQUE|pk_log_leaves"),
        aggregator.context.database.write() as connection,
    ):
        log.append(connection, [b"second"], sign)
    with pytest.raises(Unavailable, match="moved meanwhile"), aggregator.context.database.write() as connection:
        log.append(connection, [], sign)
    assert aggregator.raw_leaves() == [*leaves, b"first"]
    assert aggregator.dump()["log_head"] != before["log_head"]


def test_a_log_that_was_never_started(aggregator: Aggregator) -> None:
    with aggregator.context.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM log_head")
        with pytest.raises(UnknownResource, match="fgpr-aggregator migrate"):
            log.read_head(connection)


def test_one_leaf_a_place(aggregator: Aggregator) -> None:
    leaves = aggregator.raw_leaves()
    assert leaves
    with pytest.raises(IntegrityError), aggregator.context.database.write() as connection:
        connection.execute(insert(log_leaves).values(index=0, leaf=b"another"))
    assert aggregator.raw_leaves() == leaves


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_writer_waits_for_the_one_before(aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite every writer does."""
    monkeypatch.setattr(postgresql, "LOCK_WAIT_MS", 100)
    other = aggregator.second_replica().database
    with aggregator.context.database.write() as connection:
        log.read_head(connection, lock=True)
        with pytest.raises(Unavailable, match="LockNotAvailable"), other.write() as second:
            log.read_head(second, lock=True)
    with other.write() as second:
        log.append(second, [b"leaf"], sign)
    other.close()
