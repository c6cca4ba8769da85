"""Verifying a whole log from its leaves and one checkpoint held outside.

Every signature in it is checked, each document against the ones before it, every plan is drawn anew from settings and
roster, and every averaged prior is computed again from its summed field vector, bit for bit. What each leaf has to
hold to is written in docs/audit-trail.md.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fgpr import merkle
from fgpr.auditlog import entries, membership_leaves, prior_leaves, round_leaves
from fgpr.auditlog.trail import Trail, require
from fgpr.errors import FgprError, VerificationError
from fgpr.secagg.messages import LogPosition

_NO_KEYS: Mapping[str, bytes] = MappingProxyType({})


def verify_trail(
    leaves: Sequence[bytes], checkpoint: LogPosition, service_key: bytes, roster_keys: Mapping[str, bytes] = _NO_KEYS
) -> Trail:
    """Check a log from its first leaf.

    Args:
        leaves: every leaf in order; there may be more than the checkpoint counts.
        checkpoint: one that was verified and kept outside the log's keeper.
        service_key: the aggregator's public key, 32 bytes.
        roster_keys: public keys of rosters that are known from outside, by federation, 32 bytes each; of other
            federations the key is taken that the log names.

    Raises:
        VerificationError: leaves are missing, or their root is not the checkpoint's, or a leaf does not follow from
            those before it; says which.
        EncodingError: a leaf does not have its form.
    """
    tree = merkle.Tree(merkle.leaf_hashes(leaves))
    verify_size(tree, checkpoint)
    return follow_leaves(leaves, tree, service_key, roster_keys)


def follow_leaves(
    leaves: Sequence[bytes], tree: merkle.Tree, service_key: bytes, roster_keys: Mapping[str, bytes]
) -> Trail:
    """Check each leaf against those before it; arguments and errors as for `verify_trail`, with the leaves' tree."""
    trail = Trail(service_key, tree)
    for index, raw in enumerate(leaves):
        leaf = entries.decode(raw)
        try:
            _follow(trail, index, leaf, roster_keys)
        except FgprError as error:
            raise VerificationError(f"leaf {index}: {error}") from error
        trail.leaves += 1
    return trail


def verify_size(tree: merkle.Tree, checkpoint: LogPosition) -> None:
    """Check that a tree begins with that of a checkpoint.

    Raises:
        VerificationError: it does not.
    """
    if tree.size < checkpoint.size:
        raise VerificationError(f"the log has {tree.size} leaves, the checkpoint counts {checkpoint.size}")
    if merkle.frontier(checkpoint.size, tree.node).root() != checkpoint.root:
        raise VerificationError(f"the first {checkpoint.size} leaves are not those of the checkpoint")


def _follow(trail: Trail, index: int, leaf: entries.Leaf, roster_keys: Mapping[str, bytes]) -> None:
    if isinstance(leaf, entries.EpochBegun):
        require(leaf.epoch not in trail.epochs, f"epoch {leaf.epoch} began before")
        trail.epochs.append(leaf.epoch)
        return
    if isinstance(leaf, entries.FederationCreated):
        membership_leaves.follow_creation(trail, leaf, roster_keys)
        return
    require(leaf.federation in trail.federations, f"federation {leaf.federation} was never created")
    match leaf:
        case entries.TicketIssued():
            membership_leaves.follow_ticket(trail, leaf)
        case entries.Enrolled():
            membership_leaves.follow_enrolment(trail, index, leaf)
        case entries.OpeningKeyRegistered():
            membership_leaves.follow_opening_key(trail, leaf)
        case entries.Revoked():
            membership_leaves.follow_revocation(trail, index, leaf.federation, leaf.client)
        case entries.KeyReplaced():
            membership_leaves.follow_rotation(trail, index, leaf)
        case entries.StateChanged():
            membership_leaves.follow_state(trail, leaf)
        case entries.RosterSigned():
            membership_leaves.follow_roster(trail, index, leaf)
        case entries.PriorPublished():
            prior_leaves.follow_prior(trail, index, leaf)
        case _:
            round_leaves.follow(trail, index, leaf)
