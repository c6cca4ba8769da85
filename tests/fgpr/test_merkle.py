import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fgpr import merkle
from fgpr.errors import EncodingError, LocalProtocolError, VerificationError

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "rfc6962.json").read_text(encoding="utf-8")
)
LEAVES = [merkle.leaf_hash(bytes.fromhex(leaf)) for leaf in VECTORS["leaves"]]
LARGEST = 64
MANY = [merkle.leaf_hash(number.to_bytes(2, "big")) for number in range(LARGEST)]


def unhex(hashes: list[str]) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(text) for text in hashes)


# The definitions of RFC 6962, section 2.1, word for word and over leaf hashes.


def power_below(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def mth(d: list[bytes]) -> bytes:
    if not d:
        return hashlib.sha256(b"").digest()
    if len(d) == 1:
        return d[0]
    k = power_below(len(d))
    return hashlib.sha256(b"\x01" + mth(d[:k]) + mth(d[k:])).digest()


def path(m: int, d: list[bytes]) -> list[bytes]:
    if len(d) == 1:
        return []
    k = power_below(len(d))
    if m < k:
        return [*path(m, d[:k]), mth(d[k:])]
    return [*path(m - k, d[k:]), mth(d[:k])]


def subproof(m: int, d: list[bytes], b: bool) -> list[bytes]:
    if m == len(d):
        return [] if b else [mth(d)]
    k = power_below(len(d))
    if m <= k:
        return [*subproof(m, d[:k], b), mth(d[k:])]
    return [*subproof(m - k, d[k:], False), mth(d[:k])]


def flipped(value: bytes, bit: int) -> bytes:
    return (int.from_bytes(value, "big") ^ (1 << bit)).to_bytes(len(value), "big")


def test_leaf_hashes_and_complete_nodes_of_the_reference_tree() -> None:
    tree = merkle.Tree(LEAVES)
    for level, row in enumerate(VECTORS["nodes"]):
        assert tuple(tree.node(level, index) for index in range(len(row))) == unhex(row)


def test_roots_of_the_reference_tree() -> None:
    assert tuple(merkle.root(LEAVES[:size]) for size in range(9)) == unhex(VECTORS["roots"])


@pytest.mark.parametrize("case", VECTORS["inclusion"], ids=lambda case: f"{case['index']} in {case['size']}")
def test_published_inclusion_proofs(case: dict[str, Any]) -> None:
    index, size, proof = case["index"], case["size"], unhex(case["proof"])
    root = bytes.fromhex(VECTORS["roots"][size])
    assert merkle.inclusion_proof(index, size, merkle.Tree(LEAVES).node) == proof
    merkle.verify_inclusion(LEAVES[index], index, size, proof, root)


@pytest.mark.parametrize("case", VECTORS["consistency"], ids=lambda case: f"{case['old']} to {case['new']}")
def test_published_consistency_proofs(case: dict[str, Any]) -> None:
    old, new, proof = case["old"], case["new"], unhex(case["proof"])
    roots = unhex(VECTORS["roots"])
    assert merkle.consistency_proof(old, new, merkle.Tree(LEAVES).node) == proof
    merkle.verify_consistency(old, roots[old], new, roots[new], proof)


def test_every_inclusion_proof_up_to_64_leaves() -> None:
    node = merkle.Tree(MANY).node
    for size in range(1, LARGEST + 1):
        root = mth(MANY[:size])
        for index in range(size):
            proof = merkle.inclusion_proof(index, size, node)
            assert list(proof) == path(index, MANY[:size])
            merkle.verify_inclusion(MANY[index], index, size, proof, root)


def test_every_consistency_proof_up_to_64_leaves() -> None:
    node = merkle.Tree(MANY).node
    roots = [mth(MANY[:size]) for size in range(LARGEST + 1)]
    for new in range(1, LARGEST + 1):
        for old in range(1, new + 1):
            proof = merkle.consistency_proof(old, new, node)
            assert list(proof) == subproof(old, MANY[:new], True)
            merkle.verify_consistency(old, roots[old], new, roots[new], proof)


def test_a_proof_reads_a_logarithmic_number_of_complete_nodes() -> None:
    read: list[tuple[int, int]] = []

    def node(level: int, index: int) -> bytes:
        read.append((level, index))
        assert (index + 1) << level <= size
        return bytes(32)

    size = 2**40 - 1
    merkle.inclusion_proof(2**39 + 5, size, node)
    merkle.consistency_proof(2**38 + 1, size, node)
    assert len(read) < 4 * 40


@pytest.mark.parametrize(("index", "size"), [(0, 1), (1, 5), (4, 5), (5, 8), (12, 13), (40, 64)])
def test_forged_inclusion_proofs_fail(index: int, size: int) -> None:
    root = mth(MANY[:size])
    proof = path(index, MANY[:size])
    for place in range(len(proof)):
        for bit in (0, 100, 255):
            forged = [*proof[:place], flipped(proof[place], bit), *proof[place + 1 :]]
            with pytest.raises(VerificationError, match=f"expected root {root.hex()}, got"):
                merkle.verify_inclusion(MANY[index], index, size, forged, root)
    forgeries: list[tuple[bytes, int, list[bytes], bytes]] = [
        (flipped(MANY[index], 7), index, proof, root),
        (MANY[index], index, proof, flipped(root, 7)),
        (MANY[index], index, [*proof, MANY[0]], root),
        (MANY[index], size, proof, root),
        (MANY[index], -1, proof, root),
    ]
    if size > 1:
        forgeries += [
            (MANY[index], (index + 1) % size, proof, root),
            (MANY[index], index, proof[:-1], root),
            (MANY[index], index, proof[1:], root),
        ]
    for leaf, place, hashes, expected in forgeries:
        with pytest.raises(VerificationError):
            merkle.verify_inclusion(leaf, place, size, hashes, expected)


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, 8), (2, 5), (4, 7), (6, 8), (7, 13), (33, 64)])
def test_forged_consistency_proofs_fail(old: int, new: int) -> None:
    first, second = mth(MANY[:old]), mth(MANY[:new])
    proof = subproof(old, MANY[:new], True)
    forgeries: list[tuple[bytes, bytes, list[bytes]]] = [
        (flipped(first, 3), second, proof),
        (first, flipped(second, 3), proof),
        (second, first, proof),
        (first, second, []),
        (first, second, proof[:-1]),
        (first, second, proof[1:]),
        (first, second, [*proof, first]),
    ]
    forgeries += [
        (first, second, [*proof[:place], flipped(proof[place], bit), *proof[place + 1 :]])
        for place in range(len(proof))
        for bit in (0, 100, 255)
    ]
    for old_root, new_root, hashes in forgeries:
        with pytest.raises(VerificationError):
            merkle.verify_consistency(old, old_root, new, new_root, hashes)


def test_a_log_whose_past_was_rewritten_is_inconsistent() -> None:
    rewritten = [MANY[1], *MANY[1:13]]
    with pytest.raises(VerificationError, match="old tree"):
        merkle.verify_consistency(7, mth(MANY[:7]), 13, mth(rewritten), tuple(subproof(7, rewritten, True)))


def test_consistency_from_the_empty_tree_and_between_equal_sizes() -> None:
    root = mth(MANY[:5])
    assert merkle.consistency_proof(0, 5, merkle.Tree(MANY).node) == ()
    merkle.verify_consistency(0, merkle.EMPTY_ROOT, 5, root, ())
    merkle.verify_consistency(0, merkle.EMPTY_ROOT, 0, merkle.EMPTY_ROOT, ())
    merkle.verify_consistency(5, root, 5, root, ())


@pytest.mark.parametrize(
    ("old", "old_root", "new", "new_root", "proof"),
    [
        (0, MANY[0], 5, mth(MANY[:5]), ()),
        (0, merkle.EMPTY_ROOT, 5, mth(MANY[:5]), (MANY[0],)),
        (0, MANY[0], 0, MANY[0], ()),
        (0, merkle.EMPTY_ROOT, 0, MANY[0], ()),
        (5, mth(MANY[:5]), 5, mth(MANY[1:6]), ()),
        (5, mth(MANY[:5]), 5, mth(MANY[:5]), (MANY[0],)),
        (6, mth(MANY[:6]), 5, mth(MANY[:5]), ()),
        (-1, merkle.EMPTY_ROOT, 5, mth(MANY[:5]), ()),
    ],
)
def test_borders_of_consistency_that_do_not_hold(
    old: int, old_root: bytes, new: int, new_root: bytes, proof: tuple[bytes, ...]
) -> None:
    with pytest.raises(VerificationError):
        merkle.verify_consistency(old, old_root, new, new_root, proof)


def test_hashes_of_another_length_are_no_proof() -> None:
    # 31 + 33 bytes hash to the same node as 32 + 32: the border between the children is not hashed.
    both = MANY[0] + MANY[1]
    root = merkle.node_hash(MANY[0], MANY[1])
    assert merkle.node_hash(both[:31], both[31:]) == root
    with pytest.raises(VerificationError, match="31 bytes, not 32"):
        merkle.verify_inclusion(both[:31], 0, 2, [both[31:]], root)
    with pytest.raises(VerificationError, match="31 bytes, not 32"):
        merkle.verify_consistency(1, both[:31], 2, root, [both[31:]])
    with pytest.raises(EncodingError, match="hash 1 has 31 bytes"):
        merkle.Tree([MANY[0], both[:31]])


def test_proofs_that_fit_another_size_prove_nothing() -> None:
    """Each would lead to its roots if the sizes that it is said to belong to were not counted off."""
    two, three, four, five = (mth(MANY[:size]) for size in (2, 3, 4, 5))
    with pytest.raises(VerificationError, match="inclusion proof of leaf 0 in 1 has too many hashes"):
        merkle.verify_inclusion(MANY[1], 0, 1, [MANY[0]], two)
    with pytest.raises(VerificationError, match="inclusion proof of leaf 0 in 4 has too few hashes"):
        merkle.verify_inclusion(MANY[0], 0, 4, [MANY[1]], two)
    proof = subproof(3, MANY[:4], True)
    merkle.verify_consistency(3, three, 4, four, proof)
    above = MANY[9]
    longer = merkle.node_hash(above, three), merkle.node_hash(above, four)
    with pytest.raises(VerificationError, match="from 3 to 4: the proof has too many hashes"):
        merkle.verify_consistency(3, longer[0], 4, longer[1], [*proof, above])
    with pytest.raises(VerificationError, match="from 3 to 8: the proof has too few hashes"):
        merkle.verify_consistency(3, three, 8, four, proof)
    with pytest.raises(VerificationError, match="from 6 to 5: sizes never fall"):
        merkle.verify_consistency(6, five, 5, five, [MANY[4], four])


def test_requests_outside_the_tree_are_refused() -> None:
    tree = merkle.Tree(MANY[:5])
    with pytest.raises(LocalProtocolError, match="5 leaves has no leaf 5"):
        merkle.inclusion_proof(5, 5, tree.node)
    with pytest.raises(LocalProtocolError, match="no leaf -1"):
        merkle.inclusion_proof(-1, 5, tree.node)
    with pytest.raises(LocalProtocolError, match="from 6 leaves to 5"):
        merkle.consistency_proof(6, 5, tree.node)
    with pytest.raises(LocalProtocolError, match="no complete node 1 of level 2"):
        tree.node(2, 1)
    with pytest.raises(LocalProtocolError, match="no complete node"):
        tree.node(0, -1)


def test_a_frontier_grows_into_the_same_trees_and_nodes() -> None:
    stored: dict[tuple[int, int], bytes] = {}
    frontier = merkle.Frontier.empty()
    assert frontier.root() == merkle.EMPTY_ROOT
    for size, leaf in enumerate(MANY, start=1):
        frontier, completed = frontier.append(leaf)
        assert completed[0] == (0, size - 1, leaf)
        stored.update({(level, index): value for level, index, value in completed})
        assert frontier.size == size
        assert frontier.root() == mth(MANY[:size])
    assert stored == {
        (level, index): mth(MANY[index << level : (index + 1) << level])
        for level in range(7)
        for index in range(LARGEST >> level)
    }
    for size in range(LARGEST + 1):
        again = merkle.frontier(size, lambda level, index: stored[level, index])
        assert again.root() == mth(MANY[:size])
        assert len(again.hashes) == size.bit_count()


@pytest.mark.parametrize(("size", "hashes"), [(3, (MANY[0],)), (0, (MANY[0],)), (-1, (MANY[0],)), (1, (MANY[0][:31],))])
def test_a_frontier_of_the_wrong_form_is_refused(size: int, hashes: tuple[bytes, ...]) -> None:
    with pytest.raises(EncodingError):
        merkle.Frontier(size, hashes)
