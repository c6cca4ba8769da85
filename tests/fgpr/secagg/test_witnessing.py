"""What a member sends beside its opening: a cosignature of the cohort's checkpoint, and nothing beside an empty one."""

from functools import cache

import numpy as np
import pytest

from fgpr.auditlog import checkpoint, cosignature
from fgpr.errors import VerificationError
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, Opening
from fgpr.secagg.stages import Event
from fgpr.secagg.witnessing import check_cosignatures, cosigned_checkpoint
from support.client import SECONDS
from support.federation import Federation

ME = "client-00"


@cache
def _made() -> Federation:
    made = Federation(4)
    made.plan()
    for name in made.names:
        made.contribute(name, np.zeros(3))
    made.close()
    return made


def check(cohort: Cohort, client: str, cosigned: bytes | None, service_key: bytes | None = None) -> None:
    made = _made()
    check_cosignatures(made.roster.message, cohort, [(client, cosigned)], service_key or made.anchors.service_key)


@pytest.fixture
def cohort() -> Cohort:
    closed = _made().now.cohort
    assert closed is not None
    return closed.message


@pytest.fixture
def answer() -> Signed[Opening]:
    return _made().open(ME)


def test_a_member_cosigns_the_checkpoint_of_its_cohort(cohort: Cohort, answer: Signed[Opening]) -> None:
    made, cosigned = _made(), answer.message.cosignature
    assert cosigned is not None
    assert int.from_bytes(cosigned[:8], "big") == SECONDS
    seen = cosigned_checkpoint(cohort, made.anchors.service_key)
    assert seen.origin == checkpoint.name_of(made.anchors.service_key)
    assert (seen.size, seen.root) == (cohort.checkpoint.size, cohort.checkpoint.root)
    cosignature.verify(seen, made.clients[ME].public_key(), cosigned)
    check(cohort, ME, cosigned)


def test_what_is_refused(cohort: Cohort, answer: Signed[Opening]) -> None:
    cosigned, made = answer.message.cosignature, _made()
    other = cohort.model_copy(update={"checkpoint": made.log.position()})
    for told in (
        lambda: check(cohort, "client-01", cosigned),
        lambda: check(other, ME, cosigned),
        lambda: check(cohort, ME, cosigned, bytes(32)),
    ):
        with pytest.raises(VerificationError, match="does not hold"):
            told()
    empty = cohort.model_copy(update={"members": ()})
    for told in (lambda: check(cohort, ME, None), lambda: check(empty, ME, cosigned)):
        with pytest.raises(VerificationError, match="client-00 cosigns the checkpoint of a cohort that it opens"):
            told()
    check(empty, ME, None)


def test_the_empty_cohort_is_opened_without() -> None:
    made = Federation(4)
    made.plan()
    made.contribute(ME, np.zeros(3))
    made.abort(Event.TOO_FEW_CONTRIBUTIONS)
    assert made.open(ME).message.cosignature is None
