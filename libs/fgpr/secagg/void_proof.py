"""Void proofs: why a client may take part a second time for the same prior version.

An aborted round may have been opened in secret. t members who answered its empty cohort show that it was not and never
will be: a member answers one cohort a round, so that no other cohort can get t answers (docs/protocol.md, After an
abort).
"""

from collections.abc import Iterable, Sequence

from fgpr.errors import FgprError, PlanRefused
from fgpr.secagg.history import PastRound
from fgpr.secagg.messages import Plan, VoidProof

CHECK = 4
"""Number of the check of a plan that these proofs serve."""


def verify_void(past: PastRound, proofs: Sequence[VoidProof], service_key: bytes) -> None:
    """Check that `proofs` hold one which shows that no cohort of `past` was or will be opened.

    t members answered its empty cohort, and a member answers one cohort a round, so that no other can get t.

    Raises:
        VerificationError, PlanRefused: they do not.
    """
    plan_digest = past.plan.digest()
    proof = next((proof for proof in proofs if proof.cohort.message.plan == plan_digest), None)
    if proof is None:
        did = "to which this client contributed" if past.contributed else "of which this client opened a cohort"
        raise PlanRefused(CHECK, f"round {past.plan.round}, {did}, is not proven void")
    proof.cohort.verify(service_key)
    cohort = proof.cohort.message
    if cohort.members:
        raise PlanRefused(CHECK, f"the void proof of round {past.plan.round} names a cohort that is not empty")
    digest = cohort.digest()
    answered = set()
    for opening in proof.openings:
        answer = opening.message
        if answer.cohort != digest or past.plan.seat_of(answer.client) is None:
            raise PlanRefused(CHECK, f"the void proof of round {past.plan.round} holds an opening of something else")
        opening.verify(past.roster.identity_key(answer.client))
        answered.add(answer.client)
    if len(answered) < past.plan.threshold:
        raise PlanRefused(
            CHECK, f"{len(answered)} members proved round {past.plan.round} void, {past.plan.threshold} are needed"
        )


def is_proven_void(past: PastRound, plans: Iterable[Plan], service_key: bytes) -> bool:
    """Whether one of these plans holds a proof that no cohort of `past` was or will be opened."""
    digest = past.plan.digest()
    for plan in plans:
        if any(proof.cohort.message.plan == digest for proof in plan.void):
            try:
                verify_void(past, plan.void, service_key)
            except FgprError:
                continue
            return True
    return False
