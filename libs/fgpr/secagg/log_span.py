"""The leaves of the audit log that a member reads before it opens a cohort, and whom they revoke.

A roster's flags are true as of its checkpoint; whoever is revoked later stands in the leaves after it. A member reads
them on from where it stopped, so that each is read once while the roster stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fgpr import merkle
from fgpr.errors import VerificationError
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.history import History, Revocations
from fgpr.secagg.messages import Cohort, LogPosition


@dataclass(frozen=True)
class LogSpan:
    """The leaves of the audit log from `span_start` to the cohort's checkpoint.

    Attributes:
        frontier: the log's frontier at the start.
        leaves: the leaves after it, in order.
        since_cohort: consistency proof from the cohort's checkpoint to the one that the member keeps; empty where the
            kept one is not the larger.
    """

    frontier: merkle.Frontier
    leaves: Sequence[bytes]
    since_cohort: Sequence[bytes] = ()


def span_start(checked: CheckedPlan, history: History) -> LogPosition:
    """Where the leaves begin that a member has yet to read before it opens a cohort of this plan.

    That is where it stopped reading for an earlier cohort under the same roster, else the roster's own checkpoint. An
    honest aggregator's cohort never lies before it: earlier cohorts were closed before this plan was made.
    """
    known = _known(checked, history)
    return checked.roster.checkpoint if known is None else known.position


def read(
    checked: CheckedPlan,
    cohort: Cohort,
    span: LogSpan,
    history: History,
    revoked_by: Callable[[bytes], str | None],
) -> Revocations:
    """Who was revoked from the roster's checkpoint to the cohort's: those known before and those in the span.

    Args:
        checked: the plan of the round.
        cohort: signed, and of this plan.
        span: the leaves from `span_start` on.
        history: what the member remembers.
        revoked_by: the client that a leaf revokes, or None.

    Raises:
        VerificationError: the span is not the log from there through the plan's and the kept checkpoint to the
            cohort's, or the cohort's lies before one of them that it has to follow.
        EncodingError: a leaf does not have its form.
    """
    start, end, kept = span_start(checked, history), cohort.checkpoint, history.checkpoint
    for name, position in (("what this member has read", start), ("the plan's", checked.plan.checkpoint)):
        _require(position.size <= end.size, f"its checkpoint of {end.size} leaves lies before {name}")
    frontier = span.frontier
    _require(
        (frontier.size, frontier.root()) == (start.size, start.root),
        f"the log does not start at the {start.size} leaves after which this member has to read on",
    )
    _check_passed(frontier, checked.plan.checkpoint, kept)
    for leaf in span.leaves:
        frontier, _ = frontier.append(merkle.leaf_hash(leaf))
        _check_passed(frontier, checked.plan.checkpoint, kept)
    _require((frontier.size, frontier.root()) == (end.size, end.root), "the log does not end at the cohort's")
    # A log forked for this cohort alone could leave a revocation out.
    if kept is not None and kept.size > end.size:
        merkle.verify_consistency(end.size, end.root, kept.size, kept.root, span.since_cohort)
    known = _known(checked, history)
    revoked = frozenset() if known is None else known.clients
    revoked |= {name for name in map(revoked_by, span.leaves) if name is not None}
    return Revocations(position=end, roster_version=checked.roster.version, clients=revoked)


def _known(checked: CheckedPlan, history: History) -> Revocations | None:
    known = history.revocations
    return known if known is not None and known.roster_version == checked.roster.version else None


def _check_passed(frontier: merkle.Frontier, plan: LogPosition, kept: LogPosition | None) -> None:
    # A plan that names an older checkpoint than what was read is no harm: its own checks found it in the same log.
    if frontier.size == plan.size:
        _require(frontier.root() == plan.root, f"the log is not the one of the plan at {plan.size} leaves")
    if kept is not None and frontier.size == kept.size:
        _require(frontier.root() == kept.root, f"the log is not the one that was known at {kept.size} leaves")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)
