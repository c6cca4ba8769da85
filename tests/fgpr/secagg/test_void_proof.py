from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import FgprError
from fgpr.message import Signed
from fgpr.secagg.history import PastRound
from fgpr.secagg.messages import Cohort, CohortMember, Opening, VoidProof
from fgpr.secagg.stages import Event
from fgpr.secagg.void_proof import verify_void
from support.federation import Federation

STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)


def void_round() -> Federation:
    """Five clients, t = 4; all five answered the empty cohort of an aborted round."""
    made = Federation(5)
    made.plan()
    for name in made.names:
        made.check(name)
    made.abort(Event.TOO_FEW_CONTRIBUTIONS)
    for name in made.names:
        made.open(name)
    return made


def proof(made: Federation, members: int = 5) -> VoidProof:
    assert made.now.empty is not None
    return VoidProof(cohort=made.now.empty, openings=tuple(made.now.openings.values())[:members])


def past(made: Federation) -> PastRound:
    return PastRound(made.now.plan.message, made.roster.message, contributed=True)


@pytest.mark.parametrize("members", [4, 5])
def test_t_members_prove_a_round_void(members: int) -> None:
    made = void_round()
    verify_void(past(made), [proof(made, members)], made.anchors.service_key)


def with_cohort(made: Federation, signed: Signed[Cohort]) -> VoidProof:
    return proof(made).model_copy(update={"cohort": signed})


def with_opening(made: Federation, changed: Signed[Opening]) -> VoidProof:
    return VoidProof(cohort=proof(made).cohort, openings=(*proof(made).openings[:3], changed))


def one_member_four_times(made: Federation) -> VoidProof:
    return VoidProof(cohort=proof(made).cohort, openings=(proof(made).openings[0],) * 4)


def another_key_s(made: Federation) -> VoidProof:
    return with_opening(made, Signed[Opening].make(STRANGER, proof(made).openings[3].message))


def renamed(made: Federation) -> VoidProof:
    answer = proof(made).openings[0].message.model_copy(update={"client": "client-04"})
    return with_opening(made, Signed[Opening].make(made.clients["client-00"].identity_key, answer))


def of_a_stranger(made: Federation) -> VoidProof:
    answer = proof(made).openings[0].message.model_copy(update={"client": "stranger"})
    return with_opening(made, Signed[Opening].make(STRANGER, answer))


def of_another_cohort(made: Federation) -> VoidProof:
    answer = proof(made).openings[3].message.model_copy(update={"cohort": bytes(32)})
    return with_opening(made, Signed[Opening].make(made.clients["client-03"].identity_key, answer))


def full_cohort(made: Federation) -> VoidProof:
    members = tuple(CohortMember(client=name, header=bytes(32)) for name in made.names)
    cohort = proof(made).cohort.message.model_copy(update={"members": members})
    return with_cohort(made, Signed[Cohort].make(made.service_key, cohort))


def unsigned(made: Federation) -> VoidProof:
    return with_cohort(made, Signed[Cohort].make(STRANGER, proof(made).cohort.message))


def of_another_plan(made: Federation) -> VoidProof:
    cohort = proof(made).cohort.message.model_copy(update={"plan": bytes(32)})
    return with_cohort(made, Signed[Cohort].make(made.service_key, cohort))


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda made: proof(made, 3), "3 members proved round 1 void, 4 are needed"),
        (one_member_four_times, "1 members proved"),
        (another_key_s, "does not hold"),
        (renamed, "does not hold"),
        (of_a_stranger, "an opening of something else"),
        (of_another_cohort, "an opening of something else"),
        (full_cohort, "not empty"),
        (unsigned, "does not hold"),
        (of_another_plan, "not proven void"),
    ],
)
def test_anything_less_is_no_proof(forge: Callable[[Federation], VoidProof], reason: str) -> None:
    made = void_round()
    with pytest.raises(FgprError, match=reason):
        verify_void(past(made), [forge(made)], made.anchors.service_key)


def test_no_proof_is_no_proof_and_a_second_one_may_be_of_another_round() -> None:
    made = void_round()
    with pytest.raises(FgprError, match="round 1, to which this client contributed, is not proven void"):
        verify_void(past(made), [], made.anchors.service_key)
    verify_void(past(made), [of_another_plan(made), proof(made)], made.anchors.service_key)
